import { mentions } from '../model/page.ts';
import { demand } from '../runner/violation.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import type { AnswerInFlight } from './network.ts';
import { beginPull, deliver, endPull } from './perform-pull.ts';
import type { PageSize, Step } from './step.ts';

/** Pulls all sources of one client in one call, page by page, until there are no more. */
export async function pullTogether(run: HistoryRun, step: Extract<Step, { kind: 'pull_together' }>): Promise<void> {
  const devices = step.devices.map((index) => run.device(index));
  for (const size of step.sizes) {
    const answers = await roundTrip(run, devices, size);
    if (!answers.some(({ page }) => page.more)) return;
  }
}

async function roundTrip(
  run: HistoryRun,
  devices: readonly SimulatedDevice[],
  size: PageSize,
): Promise<readonly AnswerInFlight[]> {
  const [first] = devices;
  if (first === undefined) return [];
  const begun = [];
  for (const device of devices) begun.push(await beginPull(run, device, { token: device.model.token, size }));
  const { user, client } = first.spec;
  const tokens = new Map(begun.map(({ device, asked }) => [device.spec.source, asked]));
  const texts = await run.server.pullTogether({ user, client, tokens, ...size });
  const answers = begun.map((pull) => endPull(run, pull, texts.get(pull.device.spec.source) ?? ''));
  checkBudget(answers, size);
  for (const [index, answer] of answers.entries()) deliver(run, begun[index]?.device ?? first, answer);
  return answers;
}

/**
 * The pages share what one answer may hold. None is empty while there is more, so that every source gets on, and where
 * objects alone are limited, each source that has more got at least an equal share.
 */
function checkBudget(answers: readonly AnswerInFlight[], { objectsMax, unitsMax }: PageSize): void {
  const counts = answers.map(({ page }) => mentions(page).length);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const most = Math.max(objectsMax, answers.length);
  demand(total <= most, 'SIM-6', () => `${total} objects in an answer of ${objectsMax} for ${answers.length} sources`);
  const share = unitsMax === undefined ? Math.max(1, Math.floor(objectsMax / answers.length)) : 1;
  const starving = answers.findIndex(({ page }, index) => page.more && (counts[index] ?? 0) < share);
  demand(
    starving === -1,
    'SIM-9',
    () => `a source got ${counts[starving]} objects, less than its share, and has more: ${counts.join(', ')}`,
  );
}
