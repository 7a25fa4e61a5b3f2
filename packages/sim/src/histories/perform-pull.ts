import { WrongPage } from '../model/device.ts';
import { difference, objectText, takeSnapshot } from '../model/objects.ts';
import { demand, Violation } from '../runner/violation.ts';
import { examinePage, type ServedPage } from './examine-page.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import type { AnswerInFlight, RequestInFlight } from './network.ts';
import type { PullRequest } from './server-under-test.ts';
import type { PageSize } from './step.ts';
import type { TokenIssue } from './token-ledger.ts';

/** Lets the server answer a request, and checks the page whether or not it will arrive. */
export async function serve(
  run: HistoryRun,
  device: SimulatedDevice,
  request: RequestInFlight,
): Promise<AnswerInFlight> {
  const begun = await beginPull(run, device, request);
  return endPull(run, begun, await run.server.pull(pullRequest(device, request)));
}

/** A pull that runs alone, and what was known before it. */
export type BegunPull = Pick<ServedPage, 'device' | 'asked' | 'issue' | 'size' | 'head' | 'floor'>;

/** Records the token that the server is about to see. */
export async function beginPull(
  run: HistoryRun,
  device: SimulatedDevice,
  { token: asked, size }: RequestInFlight,
): Promise<BegunPull> {
  const issue = recordToken(run, device, asked);
  const { head, floor } = await run.status(device.partition);
  return { device, asked, issue, size, head, floor };
}

/** Checks the page, and records what the server now knows of the device. */
export function endPull(run: HistoryRun, begun: BegunPull, text: string): AnswerInFlight {
  const { device, issue, head } = begun;
  const { partition } = device;
  const states = [run.oracle.state(partition)];
  const answer = examinePage(run, { ...begun, text, states, trimmedMeanwhile: false });
  // A partition that was never written to keeps no tidemarks.
  const base = answer.page.reset === true ? null : (issue?.base ?? null);
  if (head > 0 && base?.isCertain !== false) run.tokens.recordAcknowledged(partition, device.spec.client, base);
  if (!answer.page.more) run.tokens.recordSent(partition, device.spec.client, run.oracle.state(partition).time);
  return answer;
}

export function pullRequest({ spec }: SimulatedDevice, { token, size }: RequestInFlight): PullRequest {
  return { source: spec.source, user: spec.user, client: spec.client, token, ...size };
}

/** Records the token that the server is about to see, and returns what is known of it. */
export function recordToken(
  run: HistoryRun,
  { partition, spec }: SimulatedDevice,
  token: string | null,
): TokenIssue | undefined {
  const issue = run.tokens.find(partition, token);
  run.tokens.forgetAcknowledged(partition, spec.client);
  if (
    token !== null &&
    issue?.written === true &&
    !issue.isAtRisk &&
    !issue.isLost &&
    issue.generation === run.oracle.generation(partition)
  ) {
    run.tokens.recordSeen(partition, spec.client, { token, atMs: run.clock.nowMs });
  } else {
    run.tokens.forgetClient(partition, spec.client);
    // The server may accept the token all the same, and know that it has sent this device everything.
    if (token !== null) run.tokens.recordMaybeSent(partition, spec.client);
  }
  return issue;
}

/** Delivers an answer to its device, and checks what the device holds afterwards. */
export function deliver(run: HistoryRun, { model }: SimulatedDevice, answer: AnswerInFlight): void {
  if (!receive(model, answer)) return;
  for (const [id, { attributes, generation }] of model.objects) {
    const text = objectText(attributes);
    demand(
      run.oracle.hasVersion(generation, id, text),
      'SIM-4',
      () => `the device holds ${JSON.stringify(id)} as ${text}, a version that never existed`,
    );
  }
  if (!answer.page.more) checkComplete(model.objects, answer);
}

function receive(model: SimulatedDevice['model'], answer: AnswerInFlight): boolean {
  try {
    return model.receive(answer);
  } catch (error) {
    if (error instanceof WrongPage) throw new Violation('SIM-6', error.message);
    throw error;
  }
}

/** After `more: false` a device holds exactly md. */
function checkComplete(objects: SimulatedDevice['model']['objects'], { expected, page }: AnswerInFlight): void {
  const held = takeSnapshot(new Map([...objects].map(([id, { attributes }]) => [id, attributes])));
  const names = { actual: 'the device', expected: 'md' };
  const differences = expected.map(({ texts }) => difference(held.texts, texts, names));
  demand(differences.includes(null), 'SIM-3', () => `at more: false, ${differences[0]}`);
  demand(held.checksum === page.checksum, 'SIM-3', () => `checksum ${page.checksum}, the device has ${held.checksum}`);
}

/** Pulls one page without faults. */
export async function roundTrip(run: HistoryRun, device: SimulatedDevice, size: PageSize): Promise<AnswerInFlight> {
  const answer = await serve(run, device, { token: device.model.token, size });
  deliver(run, device, answer);
  return answer;
}

/** Pulls pages of these sizes, until there are no more. */
export async function performPull(run: HistoryRun, device: SimulatedDevice, sizes: readonly PageSize[]): Promise<void> {
  for (const size of sizes) {
    const { page } = await roundTrip(run, device, size);
    if (!page.more) return;
  }
}
