import { isDeepStrictEqual } from 'node:util';
import { demand } from '../runner/violation.ts';
import type { GroupDevice } from './group-device.ts';
import type { Objects } from './group-model.ts';
import type { HistoryRun } from './history-run.ts';
import { GROUPS, PUSHED_SOURCES } from './step.ts';

/** Verdicts that say that the device has what it should have. */
const HELD: ReadonlySet<string> = new Set(['current', 'deleted']);
/** Verdicts that promise something to the next pull of the device. */
const PROMISES: ReadonlySet<string> = new Set([
  'behind',
  'pending',
  'deletion_pending',
  'device_away',
  'starting_over',
]);

type Place = readonly [source: string, group: string, id: string];

/** Checks what receipts and explanations say of one device, and of those that were wiped. */
export async function checkDelivery(run: HistoryRun, index: number): Promise<void> {
  const device = run.device(index);
  const isKnown = device.life.toMs === Number.POSITIVE_INFINITY;
  for (const source of PUSHED_SOURCES) {
    for (const group of GROUPS) {
      for (const id of run.model.idsEver(source, group)) {
        if (isKnown) await checkVerdict(run, device, [source, group, id]);
        for (const wiped of run.wiped) await checkWiped(run, wiped, [source, group, id]);
      }
      await checkReceipt(run, source, group);
    }
  }
}

async function checkVerdict(run: HistoryRun, device: GroupDevice, place: Place): Promise<void> {
  const [source, group, id] = place;
  const verdict = await run.calls.verdict(device.client, place);
  const wrong = (why: string) => () => `${id} of ${source}/${group} on ${device.client} is ${verdict}, ${why}`;
  const current = run.model.objects(source, group).get(id) ?? null;
  const held = device.held(source).get(group)?.get(id) ?? null;
  const last = device.lastOutcome(source, group, id);
  const isRejected = last !== undefined && last.status !== 'applied';
  if (!run.model.isMember(device.user, group)) {
    const hasLeft = run.model.wasMember(device.user, group) && current !== null && !isRejected;
    const isRight = hasLeft ? verdict === 'other_partition' : !PROMISES.has(verdict) && verdict !== 'current';
    demand(isRight, 'SIM-16', wrong('and its user is not in the group'));
    return;
  }
  const isHeld = isDeepStrictEqual(held, current) && device.hasConfirmed(source, group);
  if (HELD.has(verdict)) demand(isHeld, 'SIM-16', wrong(`but it has ${JSON.stringify(held)}`));
  if (verdict === 'upload_rejected') demand(isRejected, 'SIM-16', wrong('but its last upload was not rejected'));
  if (device.wasSentAll(source, group) && !device.hasConfirmed(source, group) && current !== null) {
    demand(verdict !== 'never_synced', 'SIM-16', wrong('but it was sent everything'));
  }
  if (current === null || isRejected || !surelyHas(run, device, place)) return;
  demand(verdict === 'current', 'SIM-16', wrong('but it has confirmed that it holds it'));
}

function surelyHas({ model }: HistoryRun, device: GroupDevice, [source, group, id]: Place): boolean {
  return device.surelyConfirmedMs(source, group) > model.changedAt(source, group, id);
}

async function checkWiped(run: HistoryRun, { client }: GroupDevice, place: Place): Promise<void> {
  const verdict = await run.calls.verdict(client, place);
  demand(
    !HELD.has(verdict) && !PROMISES.has(verdict),
    'SIM-16',
    () => `${place.join('/')} on ${client}, which has erased everything, is explained as ${verdict}`,
  );
}

/** A receipt counts no device that does not hold everything, and every device that has confirmed it. */
async function checkReceipt(run: HistoryRun, source: string, group: string): Promise<void> {
  const objects = run.model.objects(source, group);
  if (run.model.idsEver(source, group).length === 0) return;
  const members = run.devices.filter(({ user, isForgotten }) => run.model.isMember(user, group) && !isForgotten);
  const most = members.filter(
    (device) => device.hasConfirmed(source, group) && isSame(device.held(source).get(group), objects),
  );
  const changedAtMs = run.model.changedAt(source, group);
  // A device that is to be wiped may count until it has erased everything.
  const inUse = members.filter(({ life }) => life.toMs === Number.POSITIVE_INFINITY);
  const least = inUse.filter((device) => device.surelyConfirmedMs(source, group) > changedAtMs);
  const { delivered } = await run.calls.receipt(source, group);
  demand(
    delivered >= least.length && delivered <= most.length,
    'SIM-16',
    () => `the receipt of ${source}/${group} says ${delivered}, it is between ${least.length} and ${most.length}`,
  );
}

function isSame(left: Objects | null | undefined, right: Objects): boolean {
  return isDeepStrictEqual(left ?? null, right);
}
