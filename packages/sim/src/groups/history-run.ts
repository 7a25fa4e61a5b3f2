import { isDeepStrictEqual } from 'node:util';
import type { Store } from '@tidemark/core';
import { type Outcome, Refusal, type Upload } from '@tidemark/protocol';
import { demand } from '../runner/violation.ts';
import { type Answer, answerOf, type DeviceFaults, GroupDevice } from './group-device.ts';
import { type Attributes, applied, GroupModel, type ModelWrite, type SourceState } from './group-model.ts';
import { type GroupCalls, GroupServer } from './group-server.ts';
import type { GroupPlant } from './plant.ts';
import {
  type Change,
  DEVICE_USERS,
  GROUPS,
  type GroupHistory,
  MANY_GROUPS,
  type Meanwhile,
  type Move,
  PUSHED_SOURCES,
  type PullStep,
  type PushedSource,
  type PushStep,
} from './step.ts';

/** A write that was made, with how many objects it says that it changed. */
interface MadeWrite {
  readonly write: ModelWrite;
  /** Null: the answer does not say it. */
  readonly changed: number | null;
}

/** The server, its devices, and the model of what they must have. */
export class HistoryRun {
  readonly server: GroupServer;
  readonly calls: GroupCalls;
  readonly model = new GroupModel();
  readonly devices: GroupDevice[] = [];
  /** Devices that have erased everything because they were told to. */
  readonly wiped: GroupDevice[] = [];
  readonly #history: GroupHistory;
  readonly #faults: DeviceFaults;
  /** Writes in the middle of the call under way. */
  #made: { readonly source: PushedSource; readonly made: MadeWrite }[] = [];
  #value = 0;

  private constructor(server: GroupServer, history: GroupHistory, plant: GroupPlant) {
    this.server = server;
    this.#history = history;
    this.#faults = plant.device ?? {};
    const calls: GroupCalls = {
      pull: (...call) => server.pull(...call),
      push: (...call) => server.push(...call),
      move: (...call) => server.move(...call),
      verdict: (...call) => server.verdict(...call),
      receipt: (...call) => server.receipt(...call),
    };
    this.calls = { ...calls, ...plant.calls?.(calls, this) };
  }

  static async open(store: Store, history: GroupHistory, plant: GroupPlant): Promise<HistoryRun> {
    const run = new HistoryRun(await GroupServer.open(store, plant.store), history, plant);
    for (const index of DEVICE_USERS.keys()) await run.#register(index);
    return run;
  }

  /** Makes changes on the server, at once or in the middle of a call. */
  async change(change: Change): Promise<void> {
    switch (change.kind) {
      case 'put':
      case 'delete':
      case 'move':
        return this.#write(change);
      case 'join':
        return this.join(change.user, [change.group]);
      case 'leave':
        return this.#leave(change.user, change.group);
      case 'replace_user':
        return this.#replaceUser(change.user);
      case 'wipe':
        return this.#orderWipe(change.device);
    }
  }

  async join(user: string, groups: readonly string[]): Promise<void> {
    await this.server.tidemark.groups.add(user, groups);
    for (const group of groups) this.model.join(user, group);
  }

  async joinMany(user: string): Promise<void> {
    await this.join(user, MANY_GROUPS);
    for (const group of MANY_GROUPS) this.server.backend.put(group, '1', { w: group });
  }

  putInBackend(group: string, id: string): void {
    this.server.backend.put(group, id, { b: ++this.#value });
  }

  /** Moves objects while other things happen; the result must be that of one order of these writes. */
  async move(move: Move, meanwhile: Meanwhile | null): Promise<void> {
    const before = this.model.state(move.source);
    await this.#during(meanwhile, () => this.calls.move(move));
    await this.#settle(move.source, before, { write: move, changed: null });
  }

  async pull({ device: index, objectsMax, times, meanwhile }: PullStep): Promise<void> {
    const answer = await this.#ask(index, objectsMax, meanwhile);
    if (answer === null) return;
    const { device, answered } = answer;
    if (times === 0) device.lose(answered);
    for (let time = 0; time < times; time++) this.#apply(device, answered);
  }

  /** Pulls until there is no more. Returns how many pulls that took; null: there is no end. */
  async catchUp(index: number, objectsMax: number, pullsMax: number): Promise<number | null> {
    for (let pulls = 1; pulls <= pullsMax; pulls++) {
      const answer = await this.#ask(index, objectsMax, null);
      if (answer === null) continue;
      this.#apply(answer.device, answer.answered);
      if (![...answer.answered.sources.values()].some(({ more }) => more)) return pulls;
    }
    return null;
  }

  async acknowledge(index: number): Promise<void> {
    const device = this.device(index);
    const tokens = device.heldTokens();
    await this.#forDevice(index, () => this.server.tidemark.devices.acknowledge(device, tokens));
    if (this.device(index) !== device) return;
    device.notePresented(new Map([...tokens].map(([source, groups]) => [source, { groups }])));
  }

  async push({ device: index, source, group, id, op, isAccepted, meanwhile }: PushStep): Promise<void> {
    const device = this.device(index);
    const before = this.model.state(source);
    const value = ++this.#value;
    const content = op === 'delete' ? {} : { attributes: { u: value } };
    const upload = { op_id: `op-${value}`, source, group, op, id, ...content } as Upload;
    this.server.backend.isAccepting = isAccepted;
    const outcome = await this.#during(meanwhile, () => this.#forDevice(index, () => this.calls.push(device, upload)));
    const write = { kind: 'upload', group, id, op, value } as const;
    // A refused call may have been applied before the device lost its rights.
    if (outcome === null) return this.#settle(source, before, { write, changed: null }, { isOptional: true });
    device.noteOutcome(source, group, outcome);
    this.#checkOutcome(device, outcome);
    if (outcome.status === 'applied') return this.#settle(source, before, { write, changed: null });
    return this.#settle(source, before, null);
  }

  device(index: number): GroupDevice {
    const device = this.devices[index];
    if (device === undefined) throw new Error(`there is no device ${index}`);
    return device;
  }

  /** Makes the model the same as the server for a source that the backend fills. */
  async readTrips(): Promise<void> {
    for (const group of [...GROUPS, ...MANY_GROUPS]) {
      this.model.replace('Trip', group, await this.server.objects('Trip', group));
    }
  }

  async #ask(index: number, objectsMax: number, meanwhile: Meanwhile | null) {
    const device = this.device(index);
    const call = device.call(objectsMax);
    const before = PUSHED_SOURCES.map((source) => [source, this.model.state(source)] as const);
    const asOfMs = this.model.tick();
    const pulled = await this.#during(meanwhile, () => this.#forDevice(index, () => this.calls.pull(device, call)));
    for (const [source, state] of before) await this.#settle(source, state, null);
    if (pulled === null) return null;
    const answered = answerOf(pulled, asOfMs);
    device.notePresented(call.sources as never);
    device.noteAcknowledged();
    device.noteSent(answered);
    return { device, answered };
  }

  #apply(device: GroupDevice, answer: Answer): void {
    device.apply(answer);
    for (const [source, { groups }] of answer.sources) {
      if (source === 'Trip') continue;
      for (const [group, page] of groups) {
        const held = device.held(source).get(group);
        for (const id of [...Object.keys(page.put ?? {}), ...Object.keys(page.patch ?? {})]) {
          this.#requireVisible(device, [source, group, id], held?.get(id) ?? null, 'a page');
        }
      }
    }
  }

  #checkOutcome(device: GroupDevice, { source, group = '', id, current }: Outcome): void {
    this.#requireVisible(device, [source, group, id], (current ?? null) as Attributes | null, 'an outcome');
  }

  #requireVisible(
    device: GroupDevice,
    place: readonly [string, string, string],
    attributes: Attributes | null,
    what: string,
  ): void {
    demand(
      attributes === null || this.model.wasVisible(device, place, attributes),
      'SIM-15',
      () => `${what} shows ${device.user} ${JSON.stringify(attributes)} of ${place.join('/')}`,
    );
  }

  /** Makes a call of a device. Null: the server does not know the device any more, or has told it to erase everything. */
  async #forDevice<T>(index: number, call: () => Promise<T>): Promise<T | null> {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'client_wiped') await this.#wipe(index);
      else if (error.code !== 'client_not_found') throw error;
      await this.#register(index);
      return null;
    }
  }

  async #register(index: number): Promise<void> {
    const user = DEVICE_USERS[index] ?? '';
    const { client_id: client } = await this.server.tidemark.clients.register(user, {});
    const id = { user, client, fromMs: this.model.tick() };
    this.devices[index] = new GroupDevice(id, this.#history.usesSets[index] === true, this.#faults);
  }

  async #orderWipe(index: number): Promise<void> {
    const device = this.device(index);
    try {
      await this.server.tidemark.clients.wipes.order(device.client, 'admin');
    } catch (error) {
      // Its user was replaced, and the device has not noticed that yet.
      if (error instanceof Refusal && error.code === 'client_not_found') return;
      throw error;
    }
    this.#endLife(device);
  }

  async #wipe(index: number): Promise<void> {
    const device = this.device(index);
    await this.server.tidemark.clients.wipes.confirm(device.user, device.client, 0);
    this.wiped.push(device);
  }

  #endLife({ life }: GroupDevice): void {
    if (life.toMs === Number.POSITIVE_INFINITY) life.toMs = this.model.tick();
  }

  async #leave(user: string, group: string): Promise<void> {
    await this.server.tidemark.groups.remove(user, [group]);
    this.#noteLeft(user, group);
  }

  #noteLeft(user: string, group: string): void {
    this.model.leave(user, group);
    for (const device of this.devices) if (device.user === user) device.noteLeft(group);
  }

  async #replaceUser(user: string): Promise<void> {
    await this.server.replaceUser(user);
    for (const group of this.model.groupsOf(user)) this.#noteLeft(user, group);
    for (const device of this.devices) {
      if (device.user !== user) continue;
      this.#endLife(device);
      device.isForgotten = true;
    }
    for (const device of [...this.wiped]) {
      if (device.user === user) this.wiped.splice(this.wiped.indexOf(device), 1);
    }
  }

  async #write(change: Extract<Change, { readonly kind: 'put' | 'delete' | 'move' }>): Promise<void> {
    const { source } = change;
    const made = await this.#make(change);
    this.#made.push({ source, made });
    // A move that came too late has moved nothing, although the model still shows what a call under way has moved.
    if (made.changed === 0) return;
    const after = applied(this.model.state(source), made.write);
    // It is the truth unless a call is under way, whose end settles what is true then.
    for (const [group, objects] of after?.state ?? []) this.model.replace(source, group, objects);
  }

  async #make(change: Extract<Change, { readonly kind: 'put' | 'delete' | 'move' }>): Promise<MadeWrite> {
    const { tidemark } = this.server;
    const { source, group } = change;
    if (change.kind === 'move') return { write: change, changed: await this.calls.move(change) };
    if (change.kind === 'delete') {
      return {
        write: change,
        changed: (await tidemark.objects.pushDeletes({ source, group, objects: [change.id] })).changed,
      };
    }
    const write = { ...change, value: ++this.#value };
    const objects = { [change.id]: { [change.name]: write.value } };
    return { write, changed: (await tidemark.objects.push({ source, group, objects })).changed };
  }

  #during<T>(meanwhile: Meanwhile | null, work: () => Promise<T>): Promise<T> {
    this.#made = [];
    const changes = async () => {
      for (const change of meanwhile?.changes ?? []) await this.change(change);
    };
    return this.server.during(meanwhile, changes, work);
  }

  /** Demands that the server has the result of these writes in one order, and takes it over. */
  async #settle(
    source: PushedSource,
    before: SourceState,
    outer: MadeWrite | null,
    { isOptional = false } = {},
  ): Promise<void> {
    const inner = this.#made.filter((one) => one.source === source).map(({ made }) => made);
    this.#made = this.#made.filter((one) => one.source !== source);
    const orders = outer === null ? [inner] : inner.map((_, at) => inner.toSpliced(at, 0, outer));
    if (outer !== null) orders.push([...inner, outer]);
    if (isOptional) orders.push(inner);
    const results = orders.flatMap((writes) => resultOf(before, writes) ?? []);
    const actual = await this.#read(source);
    demand(
      results.some((result) => isSame(result, actual)),
      'SIM-17',
      () => `${source} is ${text(actual)} after ${JSON.stringify(orders)}, it was ${text(before)}`,
    );
    for (const [group, objects] of actual) this.model.replace(source, group, objects);
    for (const { write } of outer === null ? inner : [...inner, outer]) {
      this.model.touch(source, write.group);
      if ('to' in write) this.model.touch(source, write.to);
    }
  }

  async #read(source: string): Promise<SourceState> {
    const groups = GROUPS.map(async (group) => [group, await this.server.objects(source, group)] as const);
    return new Map(await Promise.all(groups));
  }
}

/** Returns what the writes lead to in this order; null: the order contradicts what they reported. */
function resultOf(before: SourceState, writes: readonly MadeWrite[]): SourceState | null {
  let state = before;
  for (const { write, changed } of writes) {
    const after = applied(state, write);
    if (after === null || (changed !== null && after.changed !== changed)) return null;
    state = after.state;
  }
  return state;
}

function isSame(left: SourceState, right: SourceState): boolean {
  return GROUPS.every((group) => isDeepStrictEqual(plain(left.get(group)), plain(right.get(group))));
}

function plain(objects: ReadonlyMap<string, Attributes> = new Map()): Readonly<Record<string, Attributes>> {
  return Object.fromEntries(Array.from(objects, ([id, attributes]) => [id, { ...attributes }]));
}

function text(state: SourceState): string {
  return JSON.stringify(Object.fromEntries([...state].map(([group, objects]) => [group, plain(objects)])));
}
