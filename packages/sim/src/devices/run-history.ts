import { isDeepStrictEqual } from 'node:util';
import type { Device } from '@tidemark/client';
import { ExpectedObjects } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { Command } from '../runner/command.ts';
import { failureOf, type Simulation, type SimulationFailure } from '../runner/simulation.ts';
import { runSimulation, simulationOptions } from '../runner/simulation-command.ts';
import { drawHistory } from './draw-history.ts';
import type { Environment, OpenEnvironment } from './environment.ts';
import { HttpEnvironment } from './http-environment.ts';
import { type DeviceHistory, partitionOf, SOURCES, type SourceName, type Step, USERS } from './step.ts';
import { VirtualEnvironment } from './virtual-environment.ts';

/** Attempts to sync without faults: one to find out about earlier faults, one that works, and two more. */
const SYNCS_MAX = 4;
/** How many objects are pushed at the very end, to count the pulls that they take. */
const LAST_OBJECTS = 7;

/** SDK devices on a bad network, killed with their server; over HTTP, or in one process with virtual time. */
export function deviceSimulation(kind: 'http' | 'virtual', stepsMax: number): Simulation<DeviceHistory> {
  const open = kind === 'http' ? HttpEnvironment.with() : VirtualEnvironment.with();
  const options = `--steps ${stepsMax}${kind === 'virtual' ? ' --virtual' : ''}`;
  return {
    name: `devices, ${kind}, ${stepsMax} steps`,
    drawHistory: (seed) => drawHistory(seed, stepsMax),
    openRunners: async () => [{ run: (history) => runHistory(history, open, options), close: async () => undefined }],
  };
}

/** Runs one history. Returns the first failure; null: the history passed. */
export async function runHistory(
  history: DeviceHistory,
  open: OpenEnvironment,
  replayOptions = '',
): Promise<SimulationFailure | null> {
  const { seed, users, pageObjects } = history;
  const environment = await open({ seed, users, pageObjects });
  const replay = `npm run sim -- http --seed ${seed} ${replayOptions}`;
  try {
    return await failureOf(history, replay, async (progress) => {
      const run = await Run.begin(environment, history);
      for (const step of history.steps) {
        progress.step++;
        await run.perform(step);
      }
      progress.step++;
      await run.end();
    });
  } finally {
    await environment.close();
  }
}

class Run {
  readonly #environment: Environment;
  readonly #history: DeviceHistory;
  readonly #devices: Device[];
  readonly #expected = new ExpectedObjects();
  /** How many changes each device has stored. */
  readonly #uploadsMade: number[];
  /** The object of each device's last change, if that was an update; and how many updates followed one of the same object. */
  readonly #lastUpdated: (string | null)[] = [];
  readonly #mergeable: number[] = [];
  #count = 0;

  private constructor(environment: Environment, history: DeviceHistory, devices: Device[]) {
    this.#environment = environment;
    this.#history = history;
    this.#devices = devices;
    this.#uploadsMade = devices.map(() => 0);
  }

  static async begin(environment: Environment, history: DeviceHistory): Promise<Run> {
    const devices: Device[] = [];
    for (const index of history.users.keys()) devices.push(await environment.openDevice(index));
    environment.setFaults(true);
    return new Run(environment, history, devices);
  }

  async perform(step: Step): Promise<void> {
    switch (step.kind) {
      case 'backend_put':
        return this.#put(step.partition, step.ids.map(backendId), step.value);
      case 'backend_delete':
        return this.#remove(step.partition, step.ids.filter(isDeletable).map(backendId));
      case 'create':
      case 'update':
      case 'delete':
      case 'update_shared':
        return this.#change(step);
      case 'sync':
        // It may fail because of the faults.
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
        return this.#environment.killServer();
      case 'wait':
        return this.#environment.wait(step.turns);
    }
  }

  /** Checks that without faults all devices converge, and that each upload was applied exactly once. */
  async end(): Promise<void> {
    this.#environment.setFaults(false);
    for (const device of this.#devices) device.goOnline();
    for (const device of this.#devices) await this.#sync(device);
    // The second time they get what the others uploaded in the first.
    for (const device of this.#devices) await this.#sync(device);
    for (const source of SOURCES) for (const user of USERS) await this.#checkPartition(partitionOf(source, user));
    for (const [index, device] of this.#devices.entries()) await this.#checkDevice(index, device);
    this.#checkUploads();
    for (const [index, device] of this.#devices.entries()) await this.#checkPulls(index, device);
  }

  async #put(partition: ModelPartition, ids: readonly string[], value: number): Promise<void> {
    await this.#environment.put(partition, Object.fromEntries(ids.map((id) => [id, { value }])));
    for (const id of ids) this.#expected.merge(partition, id, { value });
  }

  async #remove(partition: ModelPartition, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#environment.delete(partition, ids);
    for (const id of ids) this.#expected.delete(partition, id);
  }

  async #change(
    step: Extract<Step, { readonly kind: 'create' | 'update' | 'delete' | 'update_shared' }>,
  ): Promise<void> {
    const change = await this.#plan(step);
    if (change === null) return;
    await this.#environment.finish(change.make());
    change.record();
  }

  /** Returns the change that the step means for the device now; null: none. */
  async #plan(
    step: Extract<Step, { readonly kind: 'create' | 'update' | 'delete' | 'update_shared' }>,
  ): Promise<Change | null> {
    const { device: index, source: name } = step;
    const source = this.#device(index).source<Record<string, number>>(name);
    const partition = partitionOf(name, this.#history.users[index] as string);
    const n = this.#count++;
    const record =
      (keep: () => void, updated: string | null = null) =>
      () => {
        keep();
        this.#uploadsMade[index] = (this.#uploadsMade[index] ?? 0) + 1;
        if (updated !== null && this.#lastUpdated[index] === updated) {
          this.#mergeable[index] = (this.#mergeable[index] ?? 0) + 1;
        }
        this.#lastUpdated[index] = updated;
      };
    if (step.kind === 'create') {
      const id = `d${index}-${n}`;
      const make = () => source.create({ n }, { id });
      return {
        make,
        record: record(() => this.#expected.merge(partition, id, { n })),
      };
    }
    const prefix = step.kind === 'update_shared' ? 'b' : `d${index}-`;
    const held = await this.#held(this.#device(index), name);
    const known = Object.keys(held)
      .sort()
      .filter((id) => id.startsWith(prefix) && (prefix !== 'b' || !isDeletable(Number(id.slice(1)))));
    const id = known[step.pick % Math.max(1, known.length)];
    if (id === undefined) return null;
    if (step.kind === 'delete') {
      const make = () => source.delete(id);
      return { make, record: record(() => this.#expected.delete(partition, id)) };
    }
    const attribute = step.kind === 'update_shared' ? `d${index}` : 'n';
    const make = () => source.update(id, { [attribute]: n });
    return {
      make,
      record: record(() => this.#expected.merge(partition, id, { [attribute]: n }), JSON.stringify([name, id])),
    };
  }

  async #kill(index: number, during: boolean): Promise<void> {
    const change = during ? await this.#plan({ kind: 'create', device: index, source: 'Order' }) : null;
    // It is not awaited: the process may die before, while or after the change is stored.
    change?.make().catch(() => undefined);
    const device = this.#device(index);
    await this.#environment.killDevice(index, device);
    this.#environment.setFaults(false);
    this.#devices[index] = await this.#environment.openDevice(index);
    this.#environment.setFaults(true);
    if (change === null) return;
    const id = `d${index}-${this.#count - 1}`;
    if (Object.hasOwn(await this.#held(this.#device(index), 'Order'), id)) change.record();
  }

  async #sync(device: Device): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#environment.finish(device.sync());
        return;
      } catch (error) {
        if (attempt === SYNCS_MAX) throw error;
      }
    }
  }

  async #checkPartition(partition: ModelPartition): Promise<void> {
    const server = await this.#environment.read(partition);
    demand(
      server,
      this.#expected.objects(partition),
      () => `${partition.source} of ${partition.user ?? 'everybody'} on the server`,
    );
  }

  async #checkDevice(index: number, device: Device): Promise<void> {
    const user = this.#history.users[index] as string;
    for (const source of SOURCES) {
      const expected = this.#expected.objects(partitionOf(source, user));
      demand(await this.#held(device, source), expected, () => `${source} on device ${index}`);
    }
    demand(device.uploads.list(), [], () => `the queue of device ${index}`);
    demand(device.problems.list(), [], () => `the problems of device ${index}`);
    demand(device.status.getSnapshot().heals, 0, () => `the heals of device ${index}`);
  }

  /**
   * Checks that a repeated upload is the same upload, and that there are as many uploads as changes. Updates of one object
   * that follow each other may be one upload.
   */
  #checkUploads(): void {
    for (const index of this.#devices.keys()) {
      const byOp = new Map<string, string>();
      for (const { device, opId, text } of this.#environment.requests.uploads) {
        if (device !== index) continue;
        demand(text, byOp.get(opId) ?? text, () => `the upload ${opId} of device ${index} when it was sent again`);
        byOp.set(opId, text);
      }
      const made = this.#uploadsMade[index] ?? 0;
      const least = made - (this.#mergeable[index] ?? 0);
      if (byOp.size < least || byOp.size > made) {
        throw new Error(`device ${index} made ${byOp.size} uploads, should be ${least} to ${made}`);
      }
    }
  }

  async #checkPulls(index: number, device: Device): Promise<void> {
    const { pageObjects, users } = this.#history;
    const partition = partitionOf('Order', users[index] as string);
    const ids = Array.from({ length: LAST_OBJECTS }, (_, n) => `last-${index}-${n}`);
    await this.#put(partition, ids, index);
    const before = this.#environment.requests.pulls(index);
    await this.#sync(device);
    const pulls = this.#environment.requests.pulls(index) - before;
    // Devices of the same user also get what was pushed for the others.
    const behind = LAST_OBJECTS * users.slice(0, index + 1).filter((user) => user === users[index]).length;
    const pullsMax = Math.ceil(behind / pageObjects) + 2;
    if (pulls > pullsMax)
      throw new Error(`device ${index} was ${behind} objects behind and took ${pulls} pulls of ${pageObjects}`);
    demand(
      await this.#held(device, 'Order'),
      this.#expected.objects(partition),
      () => `Order on device ${index}, at the very end`,
    );
  }

  /** The objects that a device shows, wherever they are kept. */
  async #held(device: Device, source: SourceName): Promise<Readonly<Record<string, unknown>>> {
    const objects = await this.#environment.finish(device.source(source).query().fetch());
    return Object.fromEntries(objects.map(({ id, attributes }) => [id, attributes]));
  }

  #device(index: number): Device {
    const device = this.#devices[index];
    if (device === undefined) throw new Error(`there is no device ${index}`);
    return device;
  }
}

interface Change {
  readonly make: () => Promise<unknown>;
  /** Records that the device stored the change, so that it must reach the server. */
  readonly record: () => void;
}

function backendId(n: number): string {
  return `b${n}`;
}

/** The backend deletes these objects; devices update the others. */
function isDeletable(n: number): boolean {
  return n % 2 === 0;
}

function demand(actual: unknown, expected: unknown, what: () => string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new Error(`${what()} is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`);
}

const HISTORIES_DEFAULT = 20;
const STEPS_DEFAULT = 60;

export const httpCommand: Command = {
  name: 'http',
  summary: 'SDK devices and a real server over HTTP through a proxy with faults; both are killed.',
  options: [
    ...simulationOptions(HISTORIES_DEFAULT),
    { name: 'steps', value: 'N', help: `the most steps of a history (default ${STEPS_DEFAULT})` },
    { name: 'virtual', help: 'run in one process and in virtual time: faster, and nearly the same each time' },
  ],
  run: (options) => {
    const kind = options.has('virtual') ? 'virtual' : 'http';
    const simulation = deviceSimulation(kind, options.number('steps', 1) ?? STEPS_DEFAULT);
    return runSimulation(simulation, options, HISTORIES_DEFAULT);
  },
};
