import { isDeepStrictEqual } from 'node:util';
import type { Device } from '@tidemark/client';
import { Expected } from './expected.ts';
import type { MakeStage, Stage } from './stage.ts';
import { type History, type Place, placeOf, SOURCES, type SourceName, type Step, USERS } from './step.ts';

/** Attempts to sync with a good network: one to learn of what went wrong before, one that works, one to spare. */
const SYNCS_MAX = 4;
/** What is pushed at the very end, to count the pulls it takes to hear of it. */
const LAST_OBJECTS = 7;

/** A history that went wrong: which one, where, how, and how to see it again. */
export class DeviceSimulationFailure extends Error {
  override readonly name = 'DeviceSimulationFailure';
  readonly seed: number;

  constructor(history: History, step: number, cause: unknown) {
    const what = history.steps[step]?.kind ?? 'the end';
    const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    super(`seed ${history.seed}, step ${step + 1} of ${history.steps.length} (${what}): ${detail}`, { cause });
    this.seed = history.seed;
  }
}

/** Runs one history; throws a `DeviceSimulationFailure` at the first thing that is wrong. */
export async function runHistory(history: History, makeStage: MakeStage): Promise<void> {
  const { seed, users, pageObjects } = history;
  const stage = await makeStage({ seed, users, pageObjects });
  let step = 0;
  try {
    const run = await Run.begin(stage, history);
    for (; step < history.steps.length; step++) await run.perform(history.steps[step] as Step);
    await run.end();
  } catch (error) {
    throw new DeviceSimulationFailure(history, step, error);
  } finally {
    await stage.close();
  }
}

class Run {
  readonly #stage: Stage;
  readonly #history: History;
  readonly #devices: Device[];
  readonly #expected = new Expected();
  /** Changes each device has kept. */
  readonly #kept: number[];
  #count = 0;

  private constructor(stage: Stage, history: History, devices: Device[]) {
    this.#stage = stage;
    this.#history = history;
    this.#devices = devices;
    this.#kept = devices.map(() => 0);
  }

  static async begin(stage: Stage, history: History): Promise<Run> {
    const devices: Device[] = [];
    for (const index of history.users.keys()) devices.push(await stage.openDevice(index));
    stage.setBadNetwork(true);
    return new Run(stage, history, devices);
  }

  async perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'backend_put':
        return this.#put(step.place, step.ids.map(backendId), step.value);
      case 'backend_delete':
        return this.#remove(step.place, step.ids.filter(isDeletable).map(backendId));
      case 'create':
      case 'update':
      case 'delete':
      case 'touch':
        return this.#change(step);
      case 'sync':
        // Whether it works out is for the network to say.
        return void this.#device(step.device)
          .sync()
          .catch(() => undefined);
      case 'offline':
        return this.#device(step.device).goOffline();
      case 'online':
        return this.#device(step.device).goOnline();
      case 'kill_device':
        return this.#kill(step.device, step.during);
      case 'kill_server':
        return this.#stage.killServer();
      case 'let_go':
        return this.#stage.letGo(step.turns);
    }
  }

  /** With all faults off, everybody comes to have the same, and each upload was applied exactly once. */
  async end(): Promise<void> {
    this.#stage.setBadNetwork(false);
    for (const device of this.#devices) device.goOnline();
    for (const device of this.#devices) await this.#sync(device);
    // What one device uploaded last, the others have yet to hear of.
    for (const device of this.#devices) await this.#sync(device);
    for (const source of SOURCES) for (const user of USERS) await this.#checkPlace(placeOf(source, user));
    for (const [index, device] of this.#devices.entries()) await this.#checkDevice(index, device);
    this.#checkUploads();
    for (const [index, device] of this.#devices.entries()) await this.#checkPulls(index, device);
  }

  // Steps

  async #put(place: Place, ids: readonly string[], value: number): Promise<void> {
    await this.#stage.put(place, Object.fromEntries(ids.map((id) => [id, { value }])));
    for (const id of ids) this.#expected.merge(place, id, { value });
  }

  async #remove(place: Place, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#stage.delete(place, ids);
    for (const id of ids) this.#expected.delete(place, id);
  }

  async #change(step: Extract<Step, { readonly kind: 'create' | 'update' | 'delete' | 'touch' }>): Promise<void> {
    const change = this.#plan(step);
    if (change === null) return;
    await this.#stage.finish(change.make());
    change.note();
  }

  /** What the step means for the device as it is now; null: nothing. */
  #plan(step: Extract<Step, { readonly kind: 'create' | 'update' | 'delete' | 'touch' }>): Change | null {
    const { device: index, source: name } = step;
    const source = this.#device(index).source<Record<string, number>>(name);
    const place = placeOf(name, this.#history.users[index] as string);
    const n = this.#count++;
    const note = (keep: () => void) => () => {
      keep();
      this.#kept[index] = (this.#kept[index] ?? 0) + 1;
    };
    if (step.kind === 'create') {
      const id = `d${index}-${n}`;
      const make = () => source.create({ n }, { id });
      return {
        make,
        note: note(() => this.#expected.merge(place, id, { n })),
        isMade: () => source.get(id) !== undefined,
      };
    }
    const prefix = step.kind === 'touch' ? 'b' : `d${index}-`;
    const known = source
      .list()
      .filter(({ id }) => id.startsWith(prefix) && (prefix !== 'b' || !isDeletable(Number(id.slice(1)))));
    const id = known[step.pick % Math.max(1, known.length)]?.id;
    if (id === undefined) return null;
    if (step.kind === 'delete') {
      const make = () => source.delete(id);
      return { make, note: note(() => this.#expected.delete(place, id)), isMade: () => source.get(id) === undefined };
    }
    const attribute = step.kind === 'touch' ? `d${index}` : 'n';
    const make = () => source.update(id, { [attribute]: n });
    const isMade = () => source.get(id)?.attributes[attribute] === n;
    return { make, note: note(() => this.#expected.merge(place, id, { [attribute]: n })), isMade };
  }

  async #kill(index: number, during: boolean): Promise<void> {
    const change = during ? this.#plan({ kind: 'create', device: index, source: 'Order' }) : null;
    // Nobody waits for it: the process may die before, while or after it is kept.
    change?.make().catch(() => undefined);
    const device = this.#device(index);
    await this.#stage.killDevice(index, device);
    this.#stage.setBadNetwork(false);
    this.#devices[index] = await this.#stage.openDevice(index);
    this.#stage.setBadNetwork(true);
    if (change === null) return;
    const id = `d${index}-${this.#count - 1}`;
    if (this.#device(index).source('Order').get(id) !== undefined) change.note();
  }

  // The end

  async #sync(device: Device): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#stage.finish(device.sync());
        return;
      } catch (error) {
        if (attempt === SYNCS_MAX) throw error;
      }
    }
  }

  async #checkPlace(place: Place): Promise<void> {
    const server = await this.#stage.read(place);
    demand(server, this.#expected.plain(place), () => `${place.source} of ${place.user ?? 'everybody'} on the server`);
  }

  async #checkDevice(index: number, device: Device): Promise<void> {
    const user = this.#history.users[index] as string;
    for (const source of SOURCES) {
      const expected = this.#expected.plain(placeOf(source, user));
      demand(heldBy(device, source), expected, () => `${source} on device ${index}`);
    }
    demand(device.uploads.list(), [], () => `the queue of device ${index}`);
    demand(device.problems.list(), [], () => `the problems of device ${index}`);
    demand(device.status.getSnapshot().heals, 0, () => `the heals of device ${index}`);
  }

  /** A repeated upload is the same upload, and there are as many as there were changes. */
  #checkUploads(): void {
    for (const index of this.#devices.keys()) {
      const byOp = new Map<string, string>();
      for (const { device, opId, text } of this.#stage.uploads()) {
        if (device !== index) continue;
        demand(text, byOp.get(opId) ?? text, () => `the upload ${opId} of device ${index} when it was sent again`);
        byOp.set(opId, text);
      }
      demand(byOp.size, this.#kept[index], () => `how many uploads device ${index} made`);
    }
  }

  async #checkPulls(index: number, device: Device): Promise<void> {
    const { pageObjects, users } = this.#history;
    const place = placeOf('Order', users[index] as string);
    const ids = Array.from({ length: LAST_OBJECTS }, (_, n) => `last-${index}-${n}`);
    await this.#put(place, ids, index);
    const before = this.#stage.pulls(index);
    await this.#sync(device);
    const pulls = this.#stage.pulls(index) - before;
    // Devices of the same user hear of what was pushed for the others, too.
    const behind = LAST_OBJECTS * users.slice(0, index + 1).filter((user) => user === users[index]).length;
    const pullsMax = Math.ceil(behind / pageObjects) + 2;
    if (pulls > pullsMax)
      throw new Error(`device ${index} was ${behind} objects behind and took ${pulls} pulls of ${pageObjects}`);
    demand(heldBy(device, 'Order'), this.#expected.plain(place), () => `Order on device ${index}, at the very end`);
  }

  #device(index: number): Device {
    const device = this.#devices[index];
    if (device === undefined) throw new Error(`there is no device ${index}`);
    return device;
  }
}

interface Change {
  readonly make: () => Promise<unknown>;
  /** It is kept, so it must reach the server. */
  readonly note: () => void;
  readonly isMade: () => boolean;
}

function heldBy(device: Device, source: SourceName): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    device
      .source(source)
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );
}

function backendId(n: number): string {
  return `b${n}`;
}

/** Devices change the others. */
function isDeletable(n: number): boolean {
  return n % 2 === 0;
}

function demand(actual: unknown, expected: unknown, what: () => string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what()} is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`);
}
