import { clientsOf, ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { EntryBatch, EntryWrite, Guard, Store } from '../ports/store.ts';
import { KeyedBatcher } from '../primitives/keyed-batcher.ts';

/** A device that comes to a user, or goes. */
export interface DeviceMove {
  readonly id: string;
  readonly way: 'in' | 'out';
  /** What is written with it, in the same step. */
  readonly writes: readonly EntryWrite[];
}

/** `conflict`: something the writes expect is not so; whoever wants the move has to look again. */
export type MoveOutcome =
  | { readonly status: 'moved' }
  | { readonly status: 'full' }
  | { readonly status: 'conflict' }
  | { readonly status: 'gone'; readonly guard: Guard };

/** Servers that count up at the same moment overtake each other; after so many times the callers look again. */
const OVERTAKEN_MAX = 20;

const MOVED: MoveOutcome = { status: 'moved' };
const FULL: MoveOutcome = { status: 'full' };
const CONFLICT: MoveOutcome = { status: 'conflict' };

interface Count {
  readonly devices: number;
  /** Of the entry that says so; 0: there is none. */
  readonly version: number;
}

/**
 * Lets devices of a user in as long as there is room. How many there are is kept beside them and changes in the same
 * step as they do, so that the limit is exact, also across servers, and nobody has to count. Those of one user that
 * come to this server at the same moment are written together, and do not overtake each other.
 */
export class DeviceLimit {
  readonly #store: Store;
  readonly #devicesMax: number;
  readonly #moves = new KeyedBatcher<DeviceMove, MoveOutcome>((login, moves) => this.#moveAll(login, moves));

  constructor(store: Store, devicesMax: number) {
    this.#store = store;
    this.#devicesMax = devicesMax;
  }

  move(login: string, move: DeviceMove): Promise<MoveOutcome> {
    return this.#moves.do(login, move);
  }

  async #moveAll(login: string, moves: readonly DeviceMove[]): Promise<readonly MoveOutcome[]> {
    let seen: number | null = null;
    for (let attempt = 0; attempt < OVERTAKEN_MAX; attempt++) {
      const count = await this.#count(login);
      // Nobody else has moved a device meanwhile, so it is one of these that cannot be moved as it is.
      if (count.version === seen) return this.#moveApart(login, moves);
      seen = count.version;
      const plan = planOf(moves, count, this.#devicesMax);
      if (plan.made.size === 0) return plan.outcomes;
      const result = await this.#store.writeEntries(batchOf(login, plan, count));
      if (result.status === 'written') return plan.outcomes;
      if (result.status === 'gone') return moves.map(() => result);
    }
    return moves.map(() => CONFLICT);
  }

  /** Halves them until the ones are found that cannot be moved, so that these keep nobody else from it. */
  async #moveApart(login: string, moves: readonly DeviceMove[]): Promise<readonly MoveOutcome[]> {
    if (moves.length === 1) return [CONFLICT];
    const half = Math.ceil(moves.length / 2);
    return [...(await this.#moveAll(login, moves.slice(0, half))), ...(await this.#moveAll(login, moves.slice(half)))];
  }

  /** Those of users who had devices before they were counted are counted once. */
  async #count(login: string): Promise<Count> {
    const entry = await this.#store.readEntry(refs.devices(login));
    if (entry !== null) return { devices: Number(entry.value), version: entry.version };
    return { devices: (await clientsOf(this.#store, login)).length, version: 0 };
  }
}

interface Plan {
  /** For each move, if the batch is written. */
  readonly outcomes: readonly MoveOutcome[];
  /** By the id of the device: one that is there twice is moved once, and its second caller finds out why. */
  readonly made: ReadonlyMap<string, DeviceMove>;
  readonly devices: number;
}

function planOf(moves: readonly DeviceMove[], count: Count, devicesMax: number): Plan {
  const made = new Map<string, DeviceMove>();
  let { devices } = count;
  const outcomes = moves.map((move) => {
    if (made.has(move.id)) return CONFLICT;
    if (move.way === 'in' && devices >= devicesMax) return FULL;
    made.set(move.id, move);
    devices += move.way === 'in' ? 1 : -1;
    return MOVED;
  });
  return { outcomes, made, devices };
}

function batchOf(login: string, { made, devices }: Plan, { version }: Count): EntryBatch {
  const moves = [...made.values()];
  const leaving = moves.filter(({ way }) => way === 'out').map(({ id }) => id);
  const writes: EntryWrite[] = [
    { ...refs.devices(login), value: String(devices), expect: version },
    ...(leaving.length < moves.length ? [ownerTouched('user', login)] : []),
    ...moves.flatMap((move) => move.writes),
  ];
  const erase = leaving.length > 0 ? { erase: { clients: leaving } } : {};
  return { writes, guards: [refs.user(login)], ...erase };
}
