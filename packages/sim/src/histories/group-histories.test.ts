import { type GroupTokens, pageJson, type Tidemark } from '@tidemark/core';
import type { Page } from '@tidemark/protocol';
import { Dice, newTidemark, seededRandom } from '@tidemark/testing';
import { expect, it } from 'vitest';

const GROUPS = ['a', 'b', 'c', 'd'];
const IDS = ['1', '2', '3', '4', '5'];
const USERS = ['ada', 'bob'];
const STEPS = 40;
const SEEDS = Number(process.env.GROUP_SEEDS ?? 500);

type Attributes = Readonly<Record<string, unknown>>;
type Plant = 'revocation keeps shared objects' | 'grant before the cursor is missed' | null;

interface Answer {
  readonly groups: ReadonlyMap<string, Page>;
  readonly gone: readonly string[];
  readonly more: boolean;
}

/** A device as docs/sync-protocol.md describes it, written apart from the SDK. */
class Device {
  readonly tokens = new Map<string, string>();
  readonly held = new Map<string, Map<string, Attributes>>();
  readonly #tidemark: Tidemark;
  readonly #id: { readonly user: string; readonly client: string };
  readonly #plant: Plant;

  constructor(tidemark: Tidemark, id: { readonly user: string; readonly client: string }, plant: Plant) {
    this.#tidemark = tidemark;
    this.#id = id;
    this.#plant = plant;
  }

  async ask(objectsMax: number): Promise<Answer> {
    const tokens: GroupTokens = { groups: new Map(this.tokens) };
    const { grouped } = await this.#tidemark.devices.pull(this.#id, {
      sources: new Map([['Visit', tokens]]),
      objectsMax,
    });
    const { groups = [], gone = [], more = false } = grouped[0]?.pages ?? {};
    const pages = groups.flatMap(({ group, page }) =>
      'error' in page ? [] : [[group, JSON.parse(pageJson(page.token, page.body)) as Page] as const],
    );
    return { groups: new Map(pages), gone, more };
  }

  apply({ groups, gone }: Answer): void {
    for (const group of gone) {
      this.tokens.delete(group);
      const others = [...this.held].filter(([name]) => name !== group).flatMap(([, held]) => [...held.keys()]);
      const keepsShared = this.#plant === 'revocation keeps shared objects';
      const kept = [...(this.held.get(group) ?? [])].filter(([id]) => keepsShared && others.includes(id));
      if (kept.length > 0) this.held.set(group, new Map(kept));
      else this.held.delete(group);
    }
    for (const [group, page] of groups) this.#applyPage(group, page);
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

/** Returns what devices hold at the end, and what they should. */
async function history(seed: number, plant: Plant = null) {
  const dice = new Dice(seededRandom(seed));
  const { tidemark } = await newTidemark();
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  const model = new Model();
  const devices = await Promise.all(
    USERS.map(async (user) => {
      const { client_id: client } = await tidemark.clients.register(user, {});
      return { user, device: new Device(tidemark, { user, client }, plant) };
    }),
  );
  for (let step = 0; step < STEPS; step++) {
    const group = dice.pick(GROUPS);
    const id = dice.pick(IDS);
    const { user, device } = dice.pick(devices);
    const kind = dice.below(7);
    if (kind < 2) {
      const attributes = { [dice.pick(['x', 'y'])]: step };
      await tidemark.pushObjects({ source: 'Visit', group, objects: { [id]: attributes } });
      model.data.get(group)?.set(id, { ...model.data.get(group)?.get(id), ...attributes });
    } else if (kind === 2) {
      await tidemark.pushDeletes({ source: 'Visit', group, objects: [id] });
      model.data.get(group)?.delete(id);
    } else if (kind === 3) {
      const to = dice.pick(GROUPS.filter((other) => other !== group));
      await tidemark.moveObjects({ source: 'Visit', from: group, to, objects: [id] });
      const moved = model.data.get(group)?.get(id);
      if (moved !== undefined) model.data.get(to)?.set(id, moved);
      model.data.get(group)?.delete(id);
    } else if (kind === 4) {
      const isGrant = dice.chance(60);
      await (isGrant ? tidemark.groups.add(user, [group]) : tidemark.groups.remove(user, [group]));
      if (isGrant) model.members.get(user)?.add(group);
      else model.members.get(user)?.delete(group);
    } else {
      const answer = await device.ask(dice.between(1, 4));
      // An answer is lost, arrives, or arrives twice.
      for (let times = dice.below(3); times > 0; times--) device.apply(answer);
    }
  }
  for (const { device } of devices) {
    for (let isMore = true, round = 0; isMore && round < 100; round++) {
      const answer = await device.ask(2);
      device.apply(answer);
      isMore = answer.more;
    }
  }
  return devices.map(({ user, device }) => ({ user, held: device.union, wanted: model.of(user) }));
}

it(`[GROUP-23] after ${SEEDS} histories of pushes, moves, grants, revokes, lost and repeated answers every device has the union of its groups`, async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    for (const { user, held, wanted } of await history(seed))
      expect({ seed, user, held }).toEqual({ seed, user, held: wanted });
  }
});

it.each(['revocation keeps shared objects', 'grant before the cursor is missed'] as const)(
  '[GROUP-23] the histories find the planted mistake "%s"',
  async (plant) => {
    const isFound = async (seed: number) =>
      (await history(seed, plant)).some(
        ({ held, wanted }) => JSON.stringify(sorted(held)) !== JSON.stringify(sorted(wanted)),
      );
    const found: number[] = [];
    for (let seed = 1; seed <= SEEDS && found.length === 0; seed++) if (await isFound(seed)) found.push(seed);
    expect(found).toHaveLength(1);
  },
);

function sorted(objects: Record<string, Attributes>): unknown {
  return Object.entries(objects)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([id, attributes]) => [id, Object.entries(attributes).sort(([left], [right]) => (left < right ? -1 : 1))]);
}
