import { Dice, seededRandom } from '@tidemark/testing/kit';
import { drawSqueeze } from './draw-squeeze.ts';
import { type Drawer, drawBadWrite, drawRacingWrite, drawWrite } from './draw-write.ts';
import { PLACES, type Place, placeKey, SHARED_SOURCE, USERS } from './place.ts';
import { Pools } from './pools.ts';
import type { Deed, DeviceSpec, History, PageSize, PlannedWrite, RequestFate, TokenDamage } from './step.ts';

const STEPS_MIN = 15;
const STEPS_MAX = 70;
const DEVICES_MAX = 5;
const PAGE_OBJECTS_MAX = 5;
/** Each stands for a dozen deeds. */
const SQUEEZES_PER_1000 = 15;
const WEATHERS = 2 ** 31;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** How often each kind of step is drawn, before the history's own temperament. */
const WEIGHTS: Readonly<Record<Deed['kind'], number>> = {
  write: 60,
  together: 12,
  bad_write: 2,
  begin_query: 10,
  recreate_user: 4,
  reset_store: 1,
  trim: 8,
  brutal_trim: 6,
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

/** Everything the drawing of one history has at hand. */
interface Draft extends Drawer {
  readonly devices: readonly DeviceSpec[];
  readonly places: readonly Place[];
  readonly kinds: readonly Deed['kind'][];
}

/** The history of a seed: always the same one. */
export function drawHistory(seed: number): History {
  const dice = new Dice(seededRandom(seed));
  const places = dice.shuffle(PLACES).slice(0, dice.pick([1, 1, 2, 3]));
  const devices = drawDevices(dice, places);
  const draft: Draft = { dice, pools: new Pools(dice), devices, places, kinds: drawKinds(dice) };
  const deeds = Array.from({ length: dice.between(STEPS_MIN, STEPS_MAX) }, () => drawDeeds(draft)).flat();
  const steps = deeds.map((deed) => ({ ...deed, weather: dice.below(WEATHERS) }));
  return { seed, devices, steps, lastPages: devices.map(() => dice.between(1, PAGE_OBJECTS_MAX)) };
}

/**
 * Each history has a temperament: some kinds of steps are frequent in it and some never happen. Histories that do a few
 * things a lot find what histories that do everything a little do not.
 */
function drawKinds(dice: Dice): Deed['kind'][] {
  const kinds = Object.keys(WEIGHTS) as Deed['kind'][];
  return kinds.flatMap((kind) => {
    const factor = kind === 'write' || kind === 'pull' ? dice.pick([1, 2]) : dice.pick([0, 1, 1, 3]);
    return Array.from({ length: WEIGHTS[kind] * factor }, () => kind);
  });
}

function drawDevices(dice: Dice, places: readonly Place[]): DeviceSpec[] {
  const devices: DeviceSpec[] = [];
  for (let index = dice.between(1, DEVICES_MAX); index > 0; index--) {
    const place = dice.pick(places);
    const user = place.user ?? dice.pick(USERS);
    // One client may sync several sources; the server must not mix up how far it came in each.
    const others = devices.filter((other) => other.user === user && other.source !== place.source);
    const taken = (client: string) => devices.some((other) => other.client === client && other.source === place.source);
    const shared = others.map(({ client }) => client).filter((client) => !taken(client));
    const client = shared.length > 0 && dice.chance(40) ? dice.pick(shared) : `client${devices.length}`;
    devices.push({ client, source: place.source, user });
  }
  return devices;
}

function drawDeeds(draft: Draft): Deed[] {
  const { dice, devices } = draft;
  if (dice.below(1_000) < SQUEEZES_PER_1000) {
    const device = dice.below(devices.length);
    const place = draft.places.find((candidate) => devices[device] !== undefined && syncs(devices[device], candidate));
    return place === undefined ? [] : drawSqueeze(draft, device, place);
  }
  const kind = dice.pick(draft.kinds);
  return kind === 'recreate_user' ? drawRebirths(draft) : [drawDeed(draft, kind)];
}

function drawDeed(draft: Draft, kind: Exclude<Deed['kind'], 'recreate_user'>): Deed {
  const { dice, places } = draft;
  const place = dice.pick(places);
  switch (kind) {
    case 'write':
      return { kind, write: drawWrite(draft, place) };
    case 'together':
      return drawTogether(draft, place);
    case 'bad_write':
      return { kind, write: drawBadWrite(draft, place) };
    case 'begin_query':
      return { kind, place };
    case 'reset_store':
      return { kind, racing: drawRacing(draft, places, 2), pulls: drawPulls(draft) };
    case 'trim':
      return { kind, place, retentionMs: dice.pick([DAY_MS, 30 * DAY_MS]) };
    case 'brutal_trim':
      return { kind, place, part: dice.between(0, 10) / 10 };
    case 'time_passes':
      // A clock that was ahead is set back, some day.
      return { kind, ms: dice.pick([DAY_MS / 24, 2 * DAY_MS, 40 * DAY_MS, -DAY_MS / 24, -2 * DAY_MS, -40 * DAY_MS]) };
    default:
      return drawDeviceDeed(draft, kind);
  }
}

function drawTogether(draft: Draft, place: Place): Deed {
  const { dice, devices } = draft;
  const near = devices.flatMap((device, index) => (syncs(device, place) ? [index] : []));
  const pulls = near.filter(() => dice.chance(40)).map((device) => ({ device, ...drawSize(dice) }));
  return {
    kind: 'together',
    writes: Array.from({ length: dice.between(2, 4) }, () => drawWrite(draft, place)),
    pulls,
    trim: dice.chance(20) ? dice.between(0, 10) / 10 : null,
  };
}

function syncs({ source, user }: DeviceSpec, place: Place): boolean {
  return placeKey({ source, user: source === SHARED_SOURCE ? null : user }) === placeKey(place);
}

/**
 * Sometimes a user is made again twice, with little in between: two lives that are both young have the same seqs, and
 * only then can something of the one pass for something of the other.
 */
function drawRebirths(draft: Draft): Deed[] {
  const { dice, places } = draft;
  const owned = places.filter(({ user }) => user !== null);
  const user = owned.length > 0 ? (dice.pick(owned).user ?? USERS[0]) : dice.pick(USERS);
  const own = places.filter((place) => place.user === user);
  const racing = dice.chance(60) ? drawRacing(draft, own, 2) : [];
  const first = dice.chance(60) ? drawRacing(draft, own, 2) : [];
  const pulls = drawPulls(draft);
  const place = own[0];
  if (place === undefined || dice.chance(60)) return [{ kind: 'recreate_user', user, racing, first, pulls }];
  const push = drawPushes(draft, place);
  return [
    { kind: 'recreate_user', user, racing: [], first: [push()], pulls: [] },
    { kind: 'recreate_user', user, racing: [push(), ...racing.slice(1)], first: [push(), ...first.slice(1)], pulls },
  ];
}

/** Pushes of one and the same object, each of something else. */
function drawPushes({ pools }: Draft, place: Place): () => PlannedWrite {
  const [id = 'a'] = pools.ids(1);
  return () => {
    const attributes = pools.attributes(1).map((name) => [name, pools.value(place)]);
    return { kind: 'push_objects', place, objects: { [id]: Object.fromEntries(attributes) } };
  };
}

function drawPulls({ dice, devices }: Draft): number[] {
  return devices.flatMap((_, index) => (dice.chance(20) ? [index] : []));
}

function drawRacing(draft: Draft, places: readonly Place[], most: number): PlannedWrite[] {
  const owned = places.filter(({ user }) => user !== null);
  if (owned.length === 0) return [];
  return Array.from({ length: draft.dice.between(0, most) }, () => drawRacingWrite(draft, draft.dice.pick(owned)));
}

function drawDeviceDeed({ dice, devices }: Draft, kind: Extract<Deed, { device: number }>['kind']): Deed {
  const device = dice.below(devices.length);
  switch (kind) {
    case 'pull':
      return { kind, device, sizes: Array.from({ length: dice.pick([1, 1, 2, 3, 12]) }, () => drawSize(dice)) };
    case 'send':
      return { kind, device, size: drawSize(dice), fate: drawFate(dice) };
    case 'serve':
      return { kind, device, pick: dice.below(100), fate: drawFate(dice) };
    case 'deliver':
    case 'restore_copy':
      return { kind, device, pick: dice.below(100) };
    case 'clone':
      return { kind, device, from: dice.below(devices.length) };
    case 'damage_token':
      return { kind, device, damage: drawDamage(dice) };
    default:
      return { kind, device };
  }
}

function drawSize(dice: Dice): PageSize {
  const objectsMax = dice.between(1, PAGE_OBJECTS_MAX);
  return dice.chance(20) ? { objectsMax, unitsMax: dice.pick([1, 40, 150, 400]) } : { objectsMax };
}

function drawFate(dice: Dice): RequestFate {
  return dice.pick<RequestFate>(['arrives', 'arrives', 'arrives', 'doubled', 'lost']);
}

function drawDamage(dice: Dice): TokenDamage {
  const kind = dice.pick<TokenDamage['kind']>(['flip', 'cut', 'extend', 'garbage', 'foreign', 'foreign']);
  switch (kind) {
    case 'flip':
    case 'cut':
      return { kind, at: dice.below(100) };
    case 'extend':
      return { kind, text: dice.pick(['A', '0', ' ', '.1', '=', '😀']) };
    case 'garbage':
      return {
        kind,
        text: dice.pick(['', 'null', '0', '{}', '-1', '\u0000', '😀', 'A'.repeat(500), '1.2.3', '../..']),
      };
    case 'foreign':
      return { kind, pick: dice.below(100) };
  }
}
