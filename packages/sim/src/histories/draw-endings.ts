import type { Rng } from '@tidemark/testing/kit';
import type { ModelPartition } from '../model/partition.ts';
import { partitionText } from '../model/partition.ts';
import type { Attributes } from '../model/write.ts';
import { type Drawer, drawWrite } from './draw-write.ts';
import { SHARED_SOURCE } from './partitions.ts';
import type { Action, DeviceSpec, PageSize, PlannedWrite, Step } from './step.ts';

export const PAGE_OBJECTS_MAX = 5;

/** What the functions that draw one history share. */
export interface EndingDraft extends Drawer {
  readonly devices: readonly DeviceSpec[];
  readonly partitions: readonly ModelPartition[];
}

/** Sequences of steps that random steps alone produce too rarely, and how many histories end with each. */
const ENDINGS: readonly (readonly [percent: number, draw: (draft: EndingDraft) => Action[]])[] = [
  [20, drawLateWork],
  [20, drawOutdatedTidemarks],
  [30, drawFallBack],
  [60, drawSharedCalls],
  [30, drawHandover],
];

/** Draws the last steps of a history. */
export function drawEndings(draft: EndingDraft, timed: (action: Action) => Step): Step[] {
  return ENDINGS.flatMap(([percent, draw]) => (draft.rng.chance(percent) ? draw(draft).map(timed) : []));
}

/**
 * Draws work that begins for one user and ends for the next user of the same login. Only the generation tells that such work is too late: a racing write finds the same object at the same seq,
 * and a query finds the partition as empty as it was.
 */
function drawLateWork(draft: EndingDraft): Action[] {
  const { rng, partitions } = draft;
  const partition = rng.shuffle(partitions).find(({ user }) => user !== null);
  if (partition?.user == null) return [];
  const push = drawPushes(draft, partition);
  const recreation = { kind: 'recreate_user', user: partition.user, racing: [], first: [], pulls: [] } as const;
  if (rng.chance(50)) {
    return [
      { ...recreation, first: [push()] },
      { ...recreation, racing: [push()], first: [push()] },
    ];
  }
  const { objects } = push();
  const answer: PlannedWrite = { kind: 'replace', partition, query: 0, without: [], objects };
  return [recreation, { kind: 'begin_query', partition }, recreation, { kind: 'write', write: answer }];
}

/** Draws tidemarks of another epoch, which devices that go on must replace. */
function drawOutdatedTidemarks(draft: EndingDraft): Action[] {
  const { rng, partitions, devices } = draft;
  const partition = rng.pick(partitions);
  const pulls = devices.map((_, device): Action => ({ kind: 'pull', device, sizes: [drawSize(rng)] }));
  return [
    ...pulls,
    { kind: 'write', write: drawWrite(draft, partition) },
    { kind: 'outdate_tidemarks', partition },
    ...pulls.filter(() => rng.chance(50)),
  ];
}

/**
 * Draws a store that loses writes while devices catch up. Some writes change objects that the lost state has elsewhere in
 * the journal, so a device in the middle of its pages may have skipped what the older state has there.
 */
function drawFallBack(draft: EndingDraft): Action[] {
  const { rng, partitions, devices, values } = draft;
  const partition = rng.pick(partitions);
  const ids = values.ids(5);
  const near = devices.flatMap((device, index) => (syncs(device, partition) ? [index] : []));
  const push = (): Action => {
    const chosen = rng.shuffle(ids).slice(0, rng.between(1, 3));
    const objects = Object.fromEntries(chosen.map((id) => [id, attributes(draft, partition)]));
    return { kind: 'write', write: { kind: 'push_objects', partition, objects } };
  };
  const pulls = (percent: number, pages: number): Action[] =>
    near
      .filter(() => rng.chance(percent))
      .map((device) => ({ kind: 'pull', device, sizes: Array.from({ length: pages }, () => drawSize(rng)) }));
  const writes = (most: number) => Array.from({ length: rng.between(0, most) }, push);
  return [
    ...[push(), push(), ...pulls(60, 12), push(), push(), ...pulls(30, 1)],
    { kind: 'keep_state' },
    ...[...pulls(30, 1), ...writes(2), ...pulls(60, 1), ...writes(1), ...pulls(30, 2)],
    { kind: 'fall_back' },
    ...[...pulls(30, 1), ...writes(2), ...pulls(60, 1)],
  ];
}

/** Draws pulls of all sources of one client in one call, between writes to these sources. */
function drawSharedCalls(draft: EndingDraft): Action[] {
  const { rng, devices, partitions } = draft;
  const ofOne = (client: string) => devices.flatMap((other, index) => (other.client === client ? [index] : []));
  const shared = devices.map(({ client }) => ofOne(client)).filter(({ length }) => length > 1);
  const [chosen] = rng.shuffle(shared);
  if (chosen === undefined) return [];
  const near = partitions.filter((partition) => chosen.some((index) => isSynced(devices[index], partition)));
  const writes = (): Action[] =>
    near.flatMap((partition) =>
      Array.from({ length: rng.between(0, 3) }, () => ({ kind: 'write', write: drawWrite(draft, partition) }) as const),
    );
  const pull = (pages: number): Action => {
    return { kind: 'pull_together', devices: chosen, sizes: Array.from({ length: pages }, () => drawSize(rng)) };
  };
  return [...writes(), pull(12), ...writes(), ...writes(), pull(1), ...writes(), pull(2), ...writes(), pull(1)];
}

/** Draws devices that pull while their user is replaced by another user of the same login, who has no devices yet. */
function drawHandover(draft: EndingDraft): Action[] {
  const { rng, partitions, devices } = draft;
  const partition = rng.shuffle(partitions).find(({ user }) => user !== null);
  if (partition?.user == null) return [];
  const { user } = partition;
  const pulls = devices.flatMap((device, index) => (isSynced(device, partition) ? [index] : []));
  const push = drawPushes(draft, partition);
  return Array.from({ length: 3 }, (): Action[] => [
    { kind: 'write', write: push() },
    { kind: 'recreate_user', user, racing: [], first: [push()], pulls, registersLater: true },
  ]).flat();
}

/** Returns a function that draws pushes of the same object, each with other attributes. */
export function drawPushes(
  { values }: Drawer,
  partition: ModelPartition,
): () => Extract<PlannedWrite, { kind: 'push_objects' }> {
  const [id = 'a'] = values.ids(1);
  return () => {
    const attributes = values.attributes(1).map((name) => [name, values.value(partition)]);
    return { kind: 'push_objects', partition, objects: { [id]: Object.fromEntries(attributes) } };
  };
}

export function drawSize(rng: Rng): PageSize {
  const objectsMax = rng.between(1, PAGE_OBJECTS_MAX);
  return rng.chance(20) ? { objectsMax, unitsMax: rng.pick([1, 40, 150, 400]) } : { objectsMax };
}

export function isSynced(device: DeviceSpec | undefined, partition: ModelPartition): boolean {
  return device !== undefined && syncs(device, partition);
}

export function syncs({ source, user }: DeviceSpec, partition: ModelPartition): boolean {
  return partitionText({ source, user: source === SHARED_SOURCE ? null : user }) === partitionText(partition);
}

export function attributes({ values }: Drawer, partition: ModelPartition): Attributes {
  return Object.fromEntries(values.attributes(1).map((name) => [name, values.value(partition)]));
}
