import { examinePage } from './examine-page.ts';
import type { AnswerInFlight, RequestInFlight } from './network.ts';
import { difference, objectText, takeSnapshot } from './snapshot.ts';
import type { PageSize } from './step.ts';
import type { PullRequest } from './subject.ts';
import type { TokenIssue } from './token-ledger.ts';
import { demand } from './violation.ts';
import type { Station, World } from './world.ts';

/** The server answers a request; the page is checked before anybody knows whether it will arrive. */
export async function serve(world: World, station: Station, request: RequestInFlight): Promise<AnswerInFlight> {
  const { place } = station;
  const issue = presentToken(world, station, request.token);
  const { head, floor } = await world.state(place);
  const text = await world.subject.pull(pullRequest(station, request));
  const states = [world.oracle.state(place)];
  const { token: asked, size } = request;
  return examinePage(world, { station, asked, issue, size, text, states, head, floor, trimmedMeanwhile: false });
}

export function pullRequest({ spec }: Station, { token, size }: RequestInFlight): PullRequest {
  return { source: spec.source, user: spec.user, client: spec.client, token, ...size };
}

/** Notes what the server is about to learn about a device, and answers what is known of its token. */
export function presentToken(world: World, { place, spec }: Station, token: string | null): TokenIssue | undefined {
  const issue = world.tokens.find(place, token);
  if (token !== null && issue?.written === true && !issue.endangered && issue.life === world.oracle.life(place)) {
    world.tokens.present(place, spec.client, { token, atMs: world.clock.nowMs });
  } else {
    world.tokens.forgetClient(place, spec.client);
  }
  return issue;
}

/** An answer reaches its device. */
export function deliver(world: World, { device }: Station, answer: AnswerInFlight): void {
  if (!device.receive(answer)) return;
  for (const [id, { attributes, life }] of device.objects) {
    const text = objectText(attributes);
    demand(
      world.oracle.hasVersion(life, id, text),
      'SIM-4',
      () => `the device holds ${JSON.stringify(id)} as ${text}, which it never was`,
    );
  }
  if (!answer.page.more) checkComplete(device.objects, answer);
}

/** A device that was told `more: false` holds md, the whole of it and nothing else. */
function checkComplete(objects: Station['device']['objects'], { expected, page }: AnswerInFlight): void {
  const held = takeSnapshot(new Map([...objects].map(([id, { attributes }]) => [id, attributes])));
  const words = { actual: 'the device', expected: 'md' };
  const differences = expected.map(({ texts }) => difference(held.texts, texts, words));
  demand(differences.includes(null), 'SIM-3', () => `at more: false, ${differences[0]}`);
  demand(held.checksum === page.checksum, 'SIM-3', () => `checksum ${page.checksum}, the device has ${held.checksum}`);
}

/** A round trip on which nothing goes wrong. */
export async function roundTrip(world: World, station: Station, size: PageSize): Promise<AnswerInFlight> {
  const answer = await serve(world, station, { token: station.device.token, size });
  deliver(world, station, answer);
  return answer;
}

/** Pages one after the other, until there are no more or the device has had enough. */
export async function performPull(world: World, station: Station, sizes: readonly PageSize[]): Promise<void> {
  for (const size of sizes) {
    const { page } = await roundTrip(world, station, size);
    if (!page.more) return;
  }
}
