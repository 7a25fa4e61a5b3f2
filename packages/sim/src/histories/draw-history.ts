import { Rng, seededRandom } from '@tidemark/testing/kit';
import type { ModelPartition } from '../model/partition.ts';
import {
  attributes,
  drawEndings,
  drawPushes,
  drawSize,
  type EndingDraft,
  isSynced,
  PAGE_OBJECTS_MAX,
  syncs,
} from './draw-endings.ts';
import { type Drawer, drawBadWrite, drawRacingWrite, drawWrite } from './draw-write.ts';
import { PARTITIONS, USERS } from './partitions.ts';
import type { Action, Delivery, DeviceSpec, PageSize, PlannedWrite, Step, SyncHistory, TokenDamage } from './step.ts';
import { ValuePools } from './value-pools.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 70;
const DEVICES_MAX = 5;
/** Each of them is a dozen actions. */
const TRIMS_DURING_CATCH_UP_PER_1000 = 15;
const DELAY_SEEDS = 2 ** 31;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** The others are only drawn for the end of histories, so that seeds keep their steps. */
type DrawnKind = Exclude<Action['kind'], 'outdate_tidemarks' | 'keep_state' | 'fall_back' | 'pull_together'>;

/** How often each kind of step is drawn, before the history's own mix. */
const WEIGHTS: Readonly<Record<DrawnKind, number>> = {
  write: 60,
  concurrent: 12,
  bad_write: 2,
  begin_query: 10,
  recreate_user: 4,
  reset_store: 1,
  trim: 8,
  force_trim: 6,
  time_passes: 6,
  pull: 36,
  send: 20,
  serve: 20,
  deliver: 20,
  forget_device: 2,
  reinstall: 3,
  start_over: 2,
  keep_copy: 6,
  restore_copy: 4,
  clone: 2,
  damage_token: 4,
};

interface Draft extends EndingDraft {
  readonly kinds: readonly DrawnKind[];
}

/** Returns the history of a seed, always the same one. */
export function drawHistory(seed: number): SyncHistory {
  const rng = new Rng(seededRandom(seed));
  const partitions = rng.shuffle(PARTITIONS).slice(0, rng.pick([1, 1, 2, 3]));
  const devices = drawDevices(rng, partitions);
  const draft: Draft = { rng, values: new ValuePools(rng), devices, partitions, kinds: drawKinds(rng) };
  const timed = (action: Action): Step => ({ ...action, delaySeed: rng.below(DELAY_SEEDS) });
  const actions = Array.from({ length: rng.between(STEPS_MIN, STEPS_MAX) }, () => drawActions(draft)).flat();
  const steps = actions.map(timed);
  const lastPages = devices.map(() => rng.between(1, PAGE_OBJECTS_MAX));
  // Drawn last, so that seeds in failed-seeds.json keep the steps with which they once failed.
  return { seed, devices, steps: [...steps, ...drawEndings(draft, timed)], lastPages };
}

/**
 * Draws the history's own mix: some kinds of steps are frequent in it and some never happen. Histories that do a few
 * things a lot find bugs that histories that do a little of everything do not.
 */
function drawKinds(rng: Rng): DrawnKind[] {
  const kinds = Object.keys(WEIGHTS) as DrawnKind[];
  return kinds.flatMap((kind) => {
    const factor = kind === 'write' || kind === 'pull' ? rng.pick([1, 2]) : rng.pick([0, 1, 1, 3]);
    return Array.from({ length: WEIGHTS[kind] * factor }, () => kind);
  });
}

function drawDevices(rng: Rng, partitions: readonly ModelPartition[]): DeviceSpec[] {
  const devices: DeviceSpec[] = [];
  for (let index = rng.between(1, DEVICES_MAX); index > 0; index--) {
    const partition = rng.pick(partitions);
    const user = partition.user ?? rng.pick(USERS);
    // One client may sync several sources; the server must not mix up its positions in them.
    const others = devices.filter((other) => other.user === user && other.source !== partition.source);
    const taken = (client: string) =>
      devices.some((other) => other.client === client && other.source === partition.source);
    const shared = others.map(({ client }) => client).filter((client) => !taken(client));
    const client = shared.length > 0 && rng.chance(40) ? rng.pick(shared) : `client${devices.length}`;
    devices.push({ client, source: partition.source, user });
  }
  return devices;
}

function drawActions(draft: Draft): Action[] {
  const { rng, devices } = draft;
  if (rng.below(1_000) < TRIMS_DURING_CATCH_UP_PER_1000) {
    const device = rng.below(devices.length);
    const partition = draft.partitions.find((candidate) => isSynced(devices[device], candidate));
    return partition === undefined ? [] : drawTrimDuringCatchUp(draft, device, partition);
  }
  const kind = rng.pick(draft.kinds);
  return kind === 'recreate_user' ? drawRecreations(draft) : [drawAction(draft, kind)];
}

function drawAction(draft: Draft, kind: Exclude<DrawnKind, 'recreate_user'>): Action {
  const { rng, partitions } = draft;
  const partition = rng.pick(partitions);
  switch (kind) {
    case 'write':
      return { kind, write: drawWrite(draft, partition) };
    case 'concurrent':
      return drawConcurrent(draft, partition);
    case 'bad_write':
      return { kind, write: drawBadWrite(draft, partition) };
    case 'begin_query':
      return { kind, partition };
    case 'reset_store':
      return { kind, racing: drawRacing(draft, partitions, 2), pulls: drawPulls(draft) };
    case 'trim':
      return { kind, partition, retentionMs: rng.pick([DAY_MS, 30 * DAY_MS]) };
    case 'force_trim':
      return { kind, partition, part: rng.between(0, 10) / 10 };
    case 'time_passes':
      // Clocks are also set back.
      return { kind, ms: rng.pick([DAY_MS / 24, 2 * DAY_MS, 40 * DAY_MS, -DAY_MS / 24, -2 * DAY_MS, -40 * DAY_MS]) };
    default:
      return drawDeviceAction(draft, kind);
  }
}

function drawConcurrent(draft: Draft, partition: ModelPartition): Action {
  const { rng, devices } = draft;
  const near = devices.flatMap((device, index) => (syncs(device, partition) ? [index] : []));
  const pulls = near.filter(() => rng.chance(40)).map((device) => ({ device, ...drawSize(rng) }));
  return {
    kind: 'concurrent',
    writes: Array.from({ length: rng.between(2, 4) }, () => drawWrite(draft, partition)),
    pulls,
    trim: rng.chance(20) ? rng.between(0, 10) / 10 : null,
  };
}

/**
 * Draws one recreation of a user, or two with little in between: two young generations have the same seqs, and only then
 * can data of one be mistaken for data of the other.
 */
function drawRecreations(draft: Draft): Action[] {
  const { rng, partitions } = draft;
  const owned = partitions.filter(({ user }) => user !== null);
  const user = owned.length > 0 ? (rng.pick(owned).user ?? USERS[0]) : rng.pick(USERS);
  const own = partitions.filter((partition) => partition.user === user);
  const racing = rng.chance(60) ? drawRacing(draft, own, 2) : [];
  const first = rng.chance(60) ? drawRacing(draft, own, 2) : [];
  const pulls = drawPulls(draft);
  const partition = own[0];
  if (partition === undefined || rng.chance(60)) return [{ kind: 'recreate_user', user, racing, first, pulls }];
  const push = drawPushes(draft, partition);
  return [
    { kind: 'recreate_user', user, racing: [], first: [push()], pulls: [] },
    { kind: 'recreate_user', user, racing: [push(), ...racing.slice(1)], first: [push(), ...first.slice(1)], pulls },
  ];
}

function drawPulls({ rng, devices }: Draft): number[] {
  return devices.flatMap((_, index) => (rng.chance(20) ? [index] : []));
}

function drawRacing(draft: Draft, partitions: readonly ModelPartition[], most: number): PlannedWrite[] {
  const owned = partitions.filter(({ user }) => user !== null);
  if (owned.length === 0) return [];
  return Array.from({ length: draft.rng.between(0, most) }, () => drawRacingWrite(draft, draft.rng.pick(owned)));
}

function drawDeviceAction({ rng, devices }: Draft, kind: Extract<Action, { device: number }>['kind']): Action {
  const device = rng.below(devices.length);
  switch (kind) {
    case 'pull':
      return { kind, device, sizes: Array.from({ length: rng.pick([1, 1, 2, 3, 12]) }, () => drawSize(rng)) };
    case 'send':
      return { kind, device, size: drawSize(rng), delivery: drawDelivery(rng) };
    case 'serve':
      return { kind, device, pick: rng.below(100), delivery: drawDelivery(rng) };
    case 'deliver':
    case 'restore_copy':
      return { kind, device, pick: rng.below(100) };
    case 'clone':
      return { kind, device, from: rng.below(devices.length) };
    case 'damage_token':
      return { kind, device, damage: drawDamage(rng) };
    default:
      return { kind, device };
  }
}

function drawDelivery(rng: Rng): Delivery {
  return rng.pick<Delivery>(['arrives', 'arrives', 'arrives', 'doubled', 'lost']);
}

function drawDamage(rng: Rng): TokenDamage {
  const kind = rng.pick<TokenDamage['kind']>(['flip', 'cut', 'extend', 'garbage', 'foreign', 'foreign']);
  switch (kind) {
    case 'flip':
    case 'cut':
      return { kind, at: rng.below(100) };
    case 'extend':
      return { kind, text: rng.pick(['A', '0', ' ', '.1', '=', '😀']) };
    case 'garbage':
      return {
        kind,
        text: rng.pick(['', 'null', '0', '{}', '-1', '\u0000', '😀', 'A'.repeat(500), '1.2.3', '../..']),
      };
    case 'foreign':
      return { kind, pick: rng.below(100) };
  }
}

/**
 * Draws a sequence that random steps alone produce too rarely: a device that had everything falls behind, is half-way
 * through catching up when the journal is trimmed between its base and its cursor, and gets an object that lost an
 * attribute before the trim and changed again after it.
 */
function drawTrimDuringCatchUp(drawer: Drawer, device: number, partition: ModelPartition): Action[] {
  const { rng, values } = drawer;
  const ids = values.ids(4);
  const write = (planned: PlannedWrite): Action => ({ kind: 'write', write: planned });
  const pull = (sizes: readonly PageSize[]): Action => ({ kind: 'pull', device, sizes });
  const objects = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((id) => [id, attributes(drawer, partition)]));
  return [
    write({ kind: 'push_objects', partition, objects: objects(ids) }),
    pull(Array.from({ length: 12 }, () => ({ objectsMax: 5 }))),
    // The stored attributes are removed and others are set, so the objects stay.
    ...rng.shuffle(ids).map((id) => {
      return write({ kind: 'fast_update', partition, deleteData: {}, data: objects([id]), asStored: [id] });
    }),
    ...Array.from({ length: rng.below(3) }, () => write(drawWrite(drawer, partition))),
    pull([{ objectsMax: rng.between(1, 3) }]),
    { kind: 'force_trim', partition, part: rng.between(3, 9) / 10 },
    write({ kind: 'push_objects', partition, objects: objects(rng.shuffle(ids).slice(0, 2)) }),
    pull([{ objectsMax: rng.between(1, 5) }]),
  ];
}
