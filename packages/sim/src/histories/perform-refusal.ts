import { Refusal, type RefusalCode } from '@tidemark/protocol';
import { readPage } from '../model/page.ts';
import { partitionText } from '../model/partition.ts';
import { demand } from '../runner/violation.ts';
import { checkOwner } from './examine-page.ts';
import type { HistoryRun, SimulatedDevice } from './history-run.ts';
import { pullRequest } from './perform-pull.ts';

const SIZE = { objectsMax: 3 } as const;

/** Checks that a device that is not registered gets nothing. */
export async function checkRefused(run: HistoryRun, device: SimulatedDevice): Promise<void> {
  const answer = await tryPull(run, device, device.model.token);
  demand(
    answer instanceof Refusal && answer.code === 'client_not_found',
    'SIM-5',
    () => `${device.spec.client}, which is not registered, got ${answer}`,
  );
}

/** A page that nobody keeps. */
export interface DiscardedPage {
  readonly device: SimulatedDevice;
  readonly text: string;
}

/**
 * Pulls while users or sources are deleted, and discards the pages: they may be of either generation, but must not contain
 * data of others. Only these refusals are expected.
 */
export async function pullAndDiscard(
  run: HistoryRun,
  devices: readonly number[],
  expected: (device: SimulatedDevice) => readonly RefusalCode[],
): Promise<readonly DiscardedPage[]> {
  const pulls = devices.map(async (index) => {
    const device = run.device(index);
    const answer = await tryPull(run, device, device.model.token);
    run.tokens.forgetClient(device.partition, device.spec.client);
    run.tokens.recordMaybeSent(device.partition, device.spec.client);
    if (!(answer instanceof Refusal)) {
      readPage(answer);
      checkOwner({ device, text: answer });
      return [{ device, text: answer }];
    }
    const isExpected = expected(device).includes(answer.code);
    demand(isExpected, 'SIM-5', () => `${device.spec.client}, which is registered, was refused: ${answer}`);
    return [];
  });
  return (await Promise.all(pulls)).flat();
}

/** Checks that no page that was pulled for the old user has data of the new one: its token would be good now. */
export async function checkOldGeneration(run: HistoryRun, pages: readonly DiscardedPage[]): Promise<void> {
  for (const { device, text } of pages) {
    const { token, put } = readPage(text);
    if (put === undefined) continue;
    const answer = await tryPull(run, device, token);
    demand(
      !(answer instanceof Refusal) && readPage(answer).reset === true,
      'SIM-5',
      () => `a device of the deleted user of ${partitionText(device.partition)} got data of the next one: ${text}`,
    );
    run.tokens.forgetClient(device.partition, device.spec.client);
    run.tokens.recordMaybeSent(device.partition, device.spec.client);
  }
}

async function tryPull(run: HistoryRun, device: SimulatedDevice, token: string | null): Promise<string | Refusal> {
  try {
    return await run.server.pull(pullRequest(device, { token, size: SIZE }));
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}
