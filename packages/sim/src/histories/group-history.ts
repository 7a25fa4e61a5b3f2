import { type GroupTokens, pageJson, type Store, type Tidemark } from '@tidemark/core';
import { type Page, textChecksum } from '@tidemark/protocol';
import { Dice, newTidemark, seededRandom } from '@tidemark/testing';

const GROUPS = ['a', 'b', 'c', 'd'];
const IDS = ['1', '2', '3', '4', '5'];
const USERS = ['ada', 'bob'];
const STEPS = 40;
const PULLS_TO_CATCH_UP_MAX = 100;

type Attributes = Readonly<Record<string, unknown>>;

export const GROUP_PLANTS = [
  'revocation keeps shared objects',
  'grant before the cursor is missed',
  'set token ignores the memberships',
  'mark of a set token is taken after its changes were read',
  'set token stands for a page that was lost',
] as const;

export type GroupPlant = (typeof GROUP_PLANTS)[number];

interface Answer {
  readonly groups: ReadonlyMap<string, Page>;
  readonly gone: readonly string[];
  readonly changed: readonly string[];
  /** Undefined: the device keeps its own. */
  readonly setToken: string | null | undefined;
  readonly more: boolean;
}

/** A device as docs/sync-protocol.md describes it, written apart from the SDK. */
class Device {
  readonly tokens = new Map<string, string>();
  readonly held = new Map<string, Map<string, Attributes>>();
  /** Undefined: the device knows nothing of set tokens. */
  #set: string | null | undefined;
  /** Groups whose tokens the set token does not stand for. */
  #named = new Set<string>();
  readonly #tidemark: Tidemark;
  readonly #id: { readonly user: string; readonly client: string };
  readonly #plant: GroupPlant | null;

  constructor(tidemark: Tidemark, id: Device['id'], plant: GroupPlant | null, usesSets: boolean) {
    this.#tidemark = tidemark;
    this.#id = id;
    this.#plant = plant;
    this.#set = usesSets ? null : undefined;
  }

  get id(): { readonly user: string; readonly client: string } {
    return this.#id;
  }

  async ask(objectsMax: number): Promise<Answer> {
    const isNamed = (group: string) => typeof this.#set !== 'string' || this.#named.has(group);
    const tokens: GroupTokens = {
      groups: new Map([...this.tokens].filter(([group]) => isNamed(group))),
      ...(this.#set === undefined ? {} : { set: await this.#presentedSet() }),
    };
    const { grouped } = await this.#tidemark.devices.pull(this.#id, {
      sources: new Map([['Visit', tokens]]),
      objectsMax,
    });
    const { groups = [], gone = [], changed = [], setToken, more = false } = grouped[0]?.pages ?? {};
    const pages = groups.flatMap(({ group, page }) =>
      'error' in page ? [] : [[group, JSON.parse(pageJson(page.token, page.body)) as Page] as const],
    );
    return { groups: new Map(pages), gone, changed, setToken, more };
  }

  apply({ groups, gone, changed, setToken }: Answer): void {
    for (const group of gone) {
      this.tokens.delete(group);
      const others = [...this.held].filter(([name]) => name !== group).flatMap(([, held]) => [...held.keys()]);
      const keepsShared = this.#plant === 'revocation keeps shared objects';
      const kept = [...(this.held.get(group) ?? [])].filter(([id]) => keepsShared && others.includes(id));
      if (kept.length > 0) this.held.set(group, new Map(kept));
      else this.held.delete(group);
    }
    for (const [group, page] of groups) this.#applyPage(group, page);
    for (const group of [...changed, ...groups.keys()]) this.#named.add(group);
    if (this.#set !== undefined && setToken !== undefined) {
      this.#set = setToken;
      this.#named = new Set();
    }
  }

  async #presentedSet(): Promise<string | null> {
    const set = this.#set ?? null;
    if (set === null || this.#plant !== 'set token ignores the memberships') return set;
    const { version } = await this.#tidemark.sources.memberships.groups.of(this.#id.user);
    return withMemberships(set, version);
  }

  /** A device whose answer was lost holds what it held before. */
  lose({ groups }: Answer): void {
    if (this.#plant !== 'set token stands for a page that was lost') return;
    for (const group of groups.keys()) this.#named.delete(group);
    for (const [group, page] of groups) if (typeof this.#set === 'string') this.tokens.set(group, page.token);
  }

  #applyPage(group: string, page: Page): void {
    const isMissed = this.#plant === 'grant before the cursor is missed' && !this.tokens.has(group);
    const held = new Map(page.reset === true ? [] : this.held.get(group));
    for (const id of page.delete ?? []) held.delete(id);
    if (!isMissed) for (const [id, object] of Object.entries(page.put ?? {})) held.set(id, object);
    for (const [id, names] of Object.entries(page.drop ?? {})) {
      held.set(id, Object.fromEntries(Object.entries(held.get(id) ?? {}).filter(([name]) => !names.includes(name))));
    }
    for (const [id, patch] of Object.entries(page.patch ?? {})) held.set(id, { ...held.get(id), ...patch });
    this.held.set(group, held);
    this.tokens.set(group, page.token);
  }

  /** The union, with the attributes of the group whose name sorts first. */
  get union(): Record<string, Attributes> {
    const union: Record<string, Attributes> = {};
    for (const [, held] of [...this.held].sort(([left], [right]) => (left < right ? 1 : -1))) {
      for (const [id, attributes] of held) union[id] = attributes;
    }
    return union;
  }
}

/** The set token as if it had been given for other memberships of the user. */
function withMemberships(set: string, version: number): string {
  const [format = '', mark = '', terms = '', since = ''] = set.split('~');
  const [source, , ...rest] = terms.split('.');
  const body = [format, mark, [source, version.toString(36), ...rest].join('.'), since].join('~');
  return `${body}~${textChecksum(body).toString(36)}`;
}

/** What the server must have: plain maps that follow the same calls. */
class Model {
  readonly data = new Map(GROUPS.map((group) => [group, new Map<string, Attributes>()]));
  readonly members = new Map(USERS.map((user) => [user, new Set<string>()]));

  of(user: string): Record<string, Attributes> {
    const groups = [...(this.members.get(user) ?? [])].sort().reverse();
    return Object.assign({}, ...groups.map((group) => Object.fromEntries(this.data.get(group) ?? []))) as Record<
      string,
      Attributes
    >;
  }
}

/** Runs some work once, in the middle of a pull: after the store has told which groups changed. */
class Interruption {
  work: (() => Promise<void>) | null = null;

  async happen(): Promise<void> {
    const { work } = this;
    this.work = null;
    await work?.();
  }
}

/** The store with what happens during a pull, and with a planted mistake. */
function interrupted(store: Store, interruption: Interruption, plant: GroupPlant | null): Store {
  const changedSince: Store['changedSince'] = async (query) => {
    const read = await store.changedSince(query);
    await interruption.happen();
    if (plant !== 'mark of a set token is taken after its changes were read' || read === null) return read;
    return { ...read, mark: (await store.changedSince(query))?.mark ?? read.mark };
  };
  const overrides: Readonly<Record<PropertyKey, unknown>> = { changedSince };
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = overrides[name] ?? Reflect.get(target, name);
      return typeof member === 'function' && overrides[name] === undefined ? member.bind(target) : member;
    },
  });
}

class GroupHistory {
  readonly #dice: Dice;
  readonly #tidemark: Tidemark;
  readonly #model = new Model();
  readonly #interruption: Interruption;
  readonly #devices: readonly { readonly user: string; readonly device: Device }[];
  #step = 0;

  constructor(
    dice: Dice,
    tidemark: Tidemark,
    interruption: Interruption,
    devices: readonly { readonly user: string; readonly device: Device }[],
  ) {
    this.#dice = dice;
    this.#tidemark = tidemark;
    this.#interruption = interruption;
    this.#devices = devices;
  }

  async run() {
    for (; this.#step < STEPS; this.#step++) await this.#next();
    for (const { device } of this.#devices) await catchUp(device);
    return this.#devices.map(({ user, device }) => ({ user, held: device.union, wanted: this.#model.of(user) }));
  }

  async #next(): Promise<void> {
    const dice = this.#dice;
    const kind = dice.below(7);
    if (kind < 4) await this.#write(kind);
    else if (kind === 4) await this.#changeMembers();
    else {
      const { device } = dice.pick(this.#devices);
      if (dice.chance(25)) this.#interruption.work = () => this.#write(dice.below(4));
      const answer = await device.ask(dice.between(1, 4));
      this.#interruption.work = null;
      // An answer is lost, arrives, or arrives twice.
      const times = dice.below(3);
      if (times === 0) device.lose(answer);
      for (let time = 0; time < times; time++) device.apply(answer);
    }
  }

  async #write(kind: number): Promise<void> {
    const dice = this.#dice;
    const group = dice.pick(GROUPS);
    const id = dice.pick(IDS);
    const data = this.#model.data.get(group);
    if (kind < 2) {
      const attributes = { [dice.pick(['x', 'y'])]: this.#step };
      await this.#tidemark.pushObjects({ source: 'Visit', group, objects: { [id]: attributes } });
      data?.set(id, { ...data.get(id), ...attributes });
    } else if (kind === 2) {
      await this.#tidemark.pushDeletes({ source: 'Visit', group, objects: [id] });
      data?.delete(id);
    } else {
      const to = dice.pick(GROUPS.filter((other) => other !== group));
      await this.#tidemark.moveObjects({ source: 'Visit', from: group, to, objects: [id] });
      const moved = data?.get(id);
      if (moved !== undefined) this.#model.data.get(to)?.set(id, moved);
      data?.delete(id);
    }
  }

  async #changeMembers(): Promise<void> {
    const group = this.#dice.pick(GROUPS);
    const user = this.#dice.pick(USERS);
    const members = this.#model.members.get(user);
    if (this.#dice.chance(60)) {
      await this.#tidemark.groups.add(user, [group]);
      members?.add(group);
    } else {
      await this.#tidemark.groups.remove(user, [group]);
      members?.delete(group);
    }
  }
}

async function catchUp(device: Device): Promise<void> {
  for (let pull = 0; pull < PULLS_TO_CATCH_UP_MAX; pull++) {
    const answer = await device.ask(2);
    device.apply(answer);
    if (!answer.more) return;
  }
}

/** Runs one history on an empty store. Returns what devices hold at the end, and what they should. */
export async function runGroupHistory(emptyStore: Store, seed: number, plant: GroupPlant | null = null) {
  const dice = new Dice(seededRandom(seed));
  const interruption = new Interruption();
  const { tidemark } = await newTidemark({ store: interrupted(emptyStore, interruption, plant) });
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  const devices: { readonly user: string; readonly device: Device }[] = [];
  for (const user of USERS) {
    const { client_id: client } = await tidemark.clients.register(user, {});
    devices.push({ user, device: new Device(tidemark, { user, client }, plant, dice.chance(75)) });
  }
  return new GroupHistory(dice, tidemark, interruption, devices).run();
}
