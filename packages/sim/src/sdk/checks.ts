import { isDeepStrictEqual } from 'node:util';
import type { Device } from '@tidemark/client';
import { demand } from '../runner/violation.ts';
import { canonicalName } from './app-versions.ts';
import type { HistoryRun } from './history-run.ts';
import type { SdkDevice } from './sdk-device.ts';
import type { Attributes, SourceName } from './step.ts';

/** Less than the time after which a device that listens pulls anyway. */
const LOOK_MS = 30_000;

/** A device that listens and has nothing to do shows what the server has. */
export async function look(run: HistoryRun): Promise<void> {
  await run.server.platform.advance(LOOK_MS);
  for (const sdk of run.devices) {
    for (const device of sdk.running) {
      const { mode, isLive, pendingUploads, userId } = device.status.getSnapshot();
      if (mode !== 'idle' || !isLive || pendingUploads > 0 || userId === null) continue;
      await checkShown(run, { sdk, device }, 'Order', 'SIM-19');
    }
  }
}

/** A change is refused only if its user was not in the group at some time. */
export function checkProblems(run: HistoryRun, index: number, sdk: SdkDevice): void {
  const [device] = sdk.running;
  for (const { source, group = null, id, attributes, error } of device?.problems.list() ?? []) {
    demand(run.mayRefuse(sdk.user, group), 'SIM-18', () => {
      return `a change of ${id} in ${source} of ${group} on ${sdk.host} is refused: ${error.detail}`;
    });
    const { made } = Object.fromEntries(
      Object.entries(attributes ?? {}).map(([name, value]) => [canonicalName(name), value]),
    );
    run.ledger.excuse(index, source, id, made);
  }
}

export async function checkShown(
  run: HistoryRun,
  { sdk, device }: { readonly sdk: SdkDevice; readonly device: Device },
  source: SourceName,
  rule: 'SIM-18' | 'SIM-19',
): Promise<void> {
  const objects = await sdk.shown(device, source);
  const shown = Object.fromEntries(objects.map(({ id, attributes }) => [id, { ...attributes }]));
  const wanted: Record<string, Attributes> = {};
  const owners =
    source === 'Order'
      ? [{ source, group: null, user: sdk.user }]
      : run.shownGroups(sdk, source).map((group) => ({ source, group, user: null }));
  for (const owner of owners.toReversed()) Object.assign(wanted, Object.fromEntries(await run.server.objects(owner)));
  demand(
    isDeepStrictEqual(shown, wanted),
    rule,
    () => `${sdk.host} shows ${JSON.stringify(shown)} of ${source}, the server has ${JSON.stringify(wanted)}`,
  );
}
