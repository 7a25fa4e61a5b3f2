import { setTimeout as sleep } from 'node:timers/promises';
import type { Device } from '@tidemark/client';
import type { Rng } from '@tidemark/testing/kit';
import type { ExpectedObjects } from '../model/objects.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';
import type { DeviceProcess } from '../processes/device-process.ts';
import type { MembershipHistory } from './memberships.ts';
import { GROUPS, SOURCES, UPLOADED, type UploadedSource } from './partitions.ts';
import type { Registers } from './registers.ts';

export interface FieldDeviceParts {
  readonly process: DeviceProcess;
  readonly registers: Registers;
  readonly memberships: MembershipHistory;
  /** What devices have made, by user and source. */
  readonly made: ExpectedObjects;
  readonly rng: Rng;
  /** True: acknowledged changes may be lost, so that values and memberships may become older. */
  readonly isLossy: boolean;
  readonly onProblem: (problem: string) => void;
}

type Action = 'create' | 'update' | 'delete' | 'sync' | 'offline' | 'online' | 'kill';
const ACTIONS: readonly (readonly [Action, number])[] = [
  ['create', 20],
  ['update', 25],
  ['delete', 8],
  ['sync', 20],
  ['offline', 6],
  ['online', 12],
  ['kill', 3],
];
const PAUSE_MS_MAX = 120;
const PULL_PAUSE_MS = 20;
/** Objects that a device has made in one source. */
const OWN_OBJECTS_MAX = 12;

/** An SDK device that changes its own objects, is killed, and checks whatever it shows. */
export class FieldDevice {
  readonly process: DeviceProcess;
  uploads = 0;
  kills = 0;
  readonly #parts: FieldDeviceParts;
  /** The newest value that the device has shown of each object. */
  readonly #shown = new Map<string, number>();
  #count = 0;

  constructor(parts: FieldDeviceParts) {
    this.#parts = parts;
    this.process = parts.process;
  }

  async open(): Promise<Device> {
    const device = await this.process.open();
    for (const source of SOURCES) {
      device.source(source).subscribe(() => this.#check(device, source));
      this.#check(device, source);
    }
    return device;
  }

  async run(isOver: () => boolean): Promise<void> {
    const { rng } = this.#parts;
    while (!isOver()) {
      await sleep(rng.below(PAUSE_MS_MAX));
      const { device } = this.process;
      if (device !== null) await this.#act(device, rng.weighted(ACTIONS));
    }
    this.process.device?.goOnline();
  }

  /** Pulls again and again. */
  async runPulls(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.pull();
      await sleep(PULL_PAUSE_MS);
    }
  }

  /** It may fail because of faults. */
  async pull(): Promise<void> {
    await this.process.device?.sync().catch(() => undefined);
  }

  /** Returns what the device shows of a source. */
  held(source: string): ObjectsGiven {
    const shown = this.process.device?.source<Record<string, never>>(source).list() ?? [];
    return Object.fromEntries(shown.map(({ id, attributes }) => [id, attributes]));
  }

  /** Returns false if the device surely does not hold the value or a later one of an object. */
  mayHold(source: string, id: string, value: number): boolean {
    const { device } = this.process;
    const register = this.#parts.registers.find(source, id);
    if (device === null || register === undefined) return true;
    const n = device.source<{ readonly n: number }>(source).get(id)?.attributes.n ?? null;
    return !register.history.isOlder(n, value);
  }

  async #act(device: Device, action: Action): Promise<void> {
    switch (action) {
      case 'create':
      case 'update':
      case 'delete':
        return this.#change(device, action);
      case 'sync':
        // It may fail because of the faults.
        return void device.sync().catch(() => undefined);
      case 'offline':
        return device.goOffline();
      case 'online':
        return device.goOnline();
      case 'kill':
        this.kills++;
        await this.process.kill();
        // What was shown but not stored yet is gone.
        this.#shown.clear();
        await this.open();
    }
  }

  /** A device changes only what it has made itself, so that its last change of an object decides. */
  async #change(device: Device, action: 'create' | 'update' | 'delete'): Promise<void> {
    const { rng, made } = this.#parts;
    const name = rng.pick(UPLOADED);
    const partition = this.#partition(name);
    const source = device.source<{ n: number; owner: string }>(name);
    const own = Object.keys(made.objects(partition)).filter((id) => id.startsWith(this.#prefix));
    const n = this.#count++;
    this.uploads++;
    if (action === 'create' || own.length === 0) {
      if (own.length >= OWN_OBJECTS_MAX) return;
      const id = `${this.#prefix}${n}`;
      const attributes = { n, owner: this.process.login };
      await source.create(attributes, { id });
      return made.merge(partition, id, attributes);
    }
    const id = rng.pick(own);
    if (action === 'delete') {
      await source.delete(id);
      return made.delete(partition, id);
    }
    await source.update(id, { n });
    made.merge(partition, id, { n });
  }

  get #prefix(): string {
    return `d${this.process.index}-`;
  }

  #partition(source: UploadedSource): ModelPartition {
    return { source, user: this.process.login };
  }

  /** Checks everything that the device shows of a source: whose it is, and that no value becomes older. */
  #check(device: Device, source: string): void {
    if (this.process.device !== device) return;
    for (const { id, attributes } of device.source<{ n: number; owner: string }>(source).list()) {
      const { n, owner } = attributes;
      this.#checkOwner(source, id, { n, owner });
      const register = this.#parts.registers.find(source, id);
      const before = this.#shown.get(`${source} ${id}`);
      if (register === undefined || n === before) continue;
      if (!this.#parts.isLossy && before !== undefined && register.history.isOlder(n, before)) {
        this.#report(`shows ${n} of ${id} after it has shown ${before}`);
      }
      this.#shown.set(`${source} ${id}`, n);
    }
  }

  #checkOwner(source: string, id: string, { n, owner }: { readonly n: number; readonly owner: string }): void {
    const { login } = this.process;
    if (owner === 'everybody' || owner === login) return;
    const isGroup = (GROUPS as readonly string[]).includes(owner);
    const write = this.#parts.registers.find(source, id)?.history.writes.find(({ value }) => value === n);
    // Data of earlier rounds is checked when everything is healed.
    if (isGroup && this.#parts.isLossy) return;
    if (isGroup && (write === undefined || this.#parts.memberships.mayHaveBeenMember(login, owner, write.startMs)))
      return;
    const since = isGroup ? `, whose value ${n} was written after ${login} had left the group` : '';
    this.#report(`shows ${id} of ${owner}${since}`);
  }

  #report(problem: string): void {
    this.#parts.onProblem(`device ${this.process.index} of ${this.process.login} ${problem}`);
  }
}
