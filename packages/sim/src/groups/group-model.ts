import { isDeepStrictEqual } from 'node:util';
import type { Change, Move, PushStep } from './step.ts';

export type Attributes = Readonly<Record<string, unknown>>;
/** The objects of one group. */
export type Objects = ReadonlyMap<string, Attributes>;
/** Group → objects. */
export type SourceState = ReadonlyMap<string, Objects>;

const NOTHING: Objects = new Map();

/** From the first moment to the one before the second. */
interface Interval {
  readonly fromMs: number;
  toMs: number;
}

interface Version extends Interval {
  readonly attributes: Attributes | null;
}

/** What the server must have: plain maps of objects and members, with their past. Its clock counts changes. */
export class GroupModel {
  #now = 0;
  readonly #versions = new Map<string, Version[]>();
  readonly #touched = new Map<string, number>();
  readonly #members = new Map<string, Interval[]>();
  readonly #state = new Map<string, Map<string, Map<string, Attributes>>>();

  /** The moment after everything that has happened so far. */
  tick(): number {
    return ++this.#now;
  }

  get now(): number {
    return this.#now;
  }

  /** The state at this moment; later changes do not show in it. */
  state(source: string): SourceState {
    return new Map(this.#state.get(source));
  }

  objects(source: string, group: string): Objects {
    return this.#state.get(source)?.get(group) ?? NOTHING;
  }

  /** When the object last changed; without an id, when any object of the group did. */
  changedAt(source: string, group: string, id?: string): number {
    const ids = id === undefined ? this.idsEver(source, group) : [id];
    const versions = ids.flatMap((one) => this.#versions.get(keyOf(source, group, one)) ?? []);
    return Math.max(this.#touched.get(keyOf(source, group)) ?? 0, ...versions.map(({ fromMs }) => fromMs));
  }

  /** The group may have changed now, and changed back. */
  touch(source: string, group: string): void {
    this.#touched.set(keyOf(source, group), this.tick());
  }

  /** Every id that an object of the group ever had. */
  idsEver(source: string, group: string): readonly string[] {
    const ids = [...this.#versions.keys()].map((key) => JSON.parse(key) as readonly string[]);
    return ids.flatMap(([ofSource, ofGroup, id = '']) => (ofSource === source && ofGroup === group ? id : []));
  }

  /** Takes over what a group has now. */
  replace(source: string, group: string, objects: Objects): void {
    const before = this.objects(source, group);
    const now = this.tick();
    for (const id of new Set([...before.keys(), ...objects.keys()])) {
      const attributes = objects.get(id) ?? null;
      if (isDeepStrictEqual(before.get(id) ?? null, attributes)) continue;
      const versions = getOrAdd(this.#versions, keyOf(source, group, id), () => []);
      const last = versions.at(-1);
      if (last !== undefined) last.toMs = now;
      versions.push({ fromMs: now, toMs: Number.POSITIVE_INFINITY, attributes });
    }
    getOrAdd(this.#state, source, () => new Map()).set(group, new Map(objects));
  }

  groupsOf(user: string): readonly string[] {
    const groups = [...this.#members].filter(([, intervals]) => intervals.at(-1)?.toMs === Number.POSITIVE_INFINITY);
    return groups.flatMap(([key]) => {
      const [of, group = ''] = JSON.parse(key) as readonly string[];
      return of === user ? group : [];
    });
  }

  isMember(user: string, group: string): boolean {
    return this.#members.get(keyOf(user, group))?.at(-1)?.toMs === Number.POSITIVE_INFINITY;
  }

  wasMember(user: string, group: string): boolean {
    return this.#members.has(keyOf(user, group));
  }

  join(user: string, group: string): void {
    if (this.isMember(user, group)) return;
    const intervals = getOrAdd(this.#members, keyOf(user, group), () => []);
    intervals.push({ fromMs: this.tick(), toMs: Number.POSITIVE_INFINITY });
  }

  leave(user: string, group: string): void {
    const last = this.#members.get(keyOf(user, group))?.at(-1);
    if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = this.tick();
  }

  /** Whether the object had these attributes at a moment when the user was a member and the device was in use. */
  wasVisible(
    { user, life }: { readonly user: string; readonly life: Interval },
    [source, group, id]: readonly [string, string, string],
    attributes: Attributes,
  ): boolean {
    const versions = this.#versions.get(keyOf(source, group, id)) ?? [];
    const members = this.#members.get(keyOf(user, group)) ?? [];
    return versions.some(
      (version) =>
        isDeepStrictEqual(version.attributes, attributes) && members.some((member) => overlap(version, member, life)),
    );
  }
}

export type { Interval };

function overlap(...intervals: readonly Interval[]): boolean {
  return Math.max(...intervals.map(({ fromMs }) => fromMs)) < Math.min(...intervals.map(({ toMs }) => toMs));
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** A write with the value it writes. */
export type ModelWrite =
  | (Extract<Change, { readonly kind: 'put' }> & { readonly value: number })
  | Extract<Change, { readonly kind: 'delete' }>
  | Move
  | (Pick<PushStep, 'group' | 'id' | 'op'> & { readonly kind: 'upload'; readonly value: number });

/** Returns the objects after a write, and how many of them it changed. Null: the write is not possible in this state. */
export function applied(state: SourceState, write: ModelWrite): { state: SourceState; changed: number } | null {
  const objects = new Map(state.get(write.group));
  const after = (changed: number, ...others: readonly (readonly [string, Objects])[]) => ({
    state: new Map([...state, [write.group, objects] as const, ...others]),
    changed,
  });
  switch (write.kind) {
    case 'put':
      objects.set(write.id, { ...objects.get(write.id), [write.name]: write.value });
      return after(1);
    case 'delete':
      return after(Number(objects.delete(write.id)));
    case 'upload': {
      if (write.op === 'delete') return after(Number(objects.delete(write.id)));
      if (objects.has(write.id) === (write.op === 'create')) return null;
      objects.set(write.id, { ...objects.get(write.id), u: write.value });
      return after(1);
    }
    case 'move': {
      const target = new Map(state.get(write.to));
      const moved = write.ids.filter((id) => objects.has(id));
      for (const id of moved) target.set(id, objects.get(id) ?? {});
      for (const id of moved) objects.delete(id);
      return after(moved.length, [write.to, target]);
    }
  }
}
