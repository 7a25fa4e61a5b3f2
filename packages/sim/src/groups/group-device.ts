import type { DevicePull, DevicePullCall, GroupTokens } from '@tidemark/core';
import { pageJson } from '@tidemark/core';
import type { Outcome, Page } from '@tidemark/protocol';
import type { Attributes, Interval, Objects } from './group-model.ts';
import { SOURCES } from './step.ts';

/** What one source answered. */
interface GroupAnswer {
  readonly groups: ReadonlyMap<string, Page>;
  readonly gone: readonly string[];
  readonly changed: readonly string[];
  /** Undefined: the device keeps its own. */
  readonly setToken: string | null | undefined;
  readonly more: boolean;
}

export interface Answer {
  /** When the device asked. */
  readonly asOfMs: number;
  readonly sources: ReadonlyMap<string, GroupAnswer>;
  readonly outcomes: readonly Outcome[];
}

/** What the device knows of one group. */
interface HeldGroup {
  /** Null: the device has been told that the group is gone. */
  readonly token: string | null;
  readonly objects: Objects;
  /** False: more pages follow, so it is not one state of the server. */
  readonly isComplete: boolean;
  /** It includes everything that happened before. */
  readonly asOfMs: number;
}

/** How the device differs from a right one. */
export interface DeviceFaults {
  readonly keepsShared?: boolean;
  readonly missesGrants?: boolean;
  readonly trustsLostPages?: boolean;
}

/** The groups of one source on a device. */
class HeldSource {
  readonly groups = new Map<string, HeldGroup>();
  /** Undefined: the device knows nothing of set tokens. */
  #set: string | null | undefined;
  /** Groups whose tokens the set token does not stand for. */
  #named = new Set<string>();
  readonly #faults: DeviceFaults;

  constructor(usesSets: boolean, faults: DeviceFaults) {
    this.#set = usesSets ? null : undefined;
    this.#faults = faults;
  }

  tokens(): ReadonlyMap<string, string> {
    return new Map([...this.groups].flatMap(([group, { token }]) => (token === null ? [] : [[group, token] as const])));
  }

  presented(): GroupTokens {
    const isNamed = (group: string) => typeof this.#set !== 'string' || this.#named.has(group);
    return {
      groups: new Map([...this.tokens()].filter(([group]) => isNamed(group))),
      ...(this.#set === undefined ? {} : { set: this.#set }),
    };
  }

  apply({ groups, gone, changed, setToken }: GroupAnswer, asOfMs: number): void {
    for (const group of gone) this.#remove(group);
    for (const [group, page] of groups) this.#applyPage(group, page, asOfMs);
    for (const group of [...changed, ...groups.keys()]) this.#named.add(group);
    if (this.#set !== undefined && setToken !== undefined) {
      this.#set = setToken;
      this.#named = new Set();
    }
  }

  /** A device whose answer was lost holds what it held before. */
  lose({ groups }: GroupAnswer): void {
    if (this.#faults.trustsLostPages !== true || typeof this.#set !== 'string') return;
    for (const [group, { token }] of groups) {
      this.#named.delete(group);
      const held = this.groups.get(group) ?? { objects: new Map(), isComplete: true, asOfMs: 0 };
      this.groups.set(group, { ...held, token });
    }
  }

  #remove(group: string): void {
    const held = this.groups.get(group);
    this.groups.delete(group);
    if (held === undefined || this.#faults.keepsShared !== true) return;
    const others = new Set([...this.groups.values()].flatMap(({ objects }) => [...objects.keys()]));
    const kept = new Map([...held.objects].filter(([id]) => others.has(id)));
    if (kept.size > 0) this.groups.set(group, { ...held, token: null, objects: kept });
  }

  #applyPage(group: string, page: Page, asOfMs: number): void {
    const before = this.groups.get(group);
    const isMissed = this.#faults.missesGrants === true && before === undefined;
    const objects = new Map(page.reset === true ? [] : before?.objects);
    for (const id of page.delete ?? []) objects.delete(id);
    if (!isMissed) for (const [id, object] of Object.entries(page.put ?? {})) objects.set(id, object);
    for (const [id, names] of Object.entries(page.drop ?? {})) {
      const left = Object.entries(objects.get(id) ?? {}).filter(([name]) => !names.includes(name));
      objects.set(id, Object.fromEntries(left));
    }
    for (const [id, patch] of Object.entries(page.patch ?? {})) objects.set(id, { ...objects.get(id), ...patch });
    this.groups.set(group, { token: page.token, objects, isComplete: page.more !== true, asOfMs });
  }
}

/** A device as docs/reference/sync-protocol.md describes it, written apart from the SDK. It knows what it has told the server. */
export class GroupDevice {
  readonly user: string;
  readonly client: string;
  /** When it was registered, and when it lost all rights. */
  readonly life: Interval;
  /** True: the server has deleted the device with its user. */
  isForgotten = false;
  readonly #sources: ReadonlyMap<string, HeldSource>;
  /** By source and group: what the device held when it last presented a token of a complete catch-up. */
  readonly #confirmed = new Map<string, HeldGroup>();
  /** Those of which the server had no reason to forget it. */
  readonly #surelyConfirmed = new Set<string>();
  /** By source and group: what the server sent last, if that was everything. */
  readonly #sent = new Set<string>();
  /** By source, group and id: the outcome of the last upload, until it is acknowledged. */
  readonly #outcomes = new Map<string, Outcome>();
  readonly #unacknowledged: Outcome[] = [];

  constructor(id: { user: string; client: string; fromMs: number }, usesSets: boolean, faults: DeviceFaults) {
    this.user = id.user;
    this.client = id.client;
    this.life = { fromMs: id.fromMs, toMs: Number.POSITIVE_INFINITY };
    this.#sources = new Map(SOURCES.map((source) => [source, new HeldSource(usesSets, faults)]));
  }

  call(objectsMax: number): DevicePullCall {
    return {
      sources: new Map(Array.from(this.#sources, ([name, source]) => [name, source.presented()])),
      objectsMax,
      acknowledged: this.#acknowledged(),
    };
  }

  /** The tokens of all groups that the device holds. */
  heldTokens(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    return new Map(Array.from(this.#sources, ([name, source]) => [name, source.tokens()]));
  }

  /** The server has taken these tokens, whether or not its answer arrives. */
  notePresented(tokens: ReadonlyMap<string, { readonly groups: ReadonlyMap<string, string | null> }>): void {
    for (const [source, { groups }] of tokens) {
      for (const group of groups.keys()) {
        const held = this.#sources.get(source)?.groups.get(group);
        this.#sent.delete(placeKey(source, group));
        if (held?.isComplete !== true) continue;
        this.#confirmed.set(placeKey(source, group), held);
        this.#surelyConfirmed.add(placeKey(source, group));
      }
    }
  }

  /** The server has taken the acknowledgement of all outcomes. */
  noteAcknowledged(): void {
    this.#outcomes.clear();
    this.#unacknowledged.length = 0;
  }

  /** The server has sent this, whether or not it arrives. */
  noteSent({ sources }: Answer): void {
    for (const [source, { groups }] of sources) {
      for (const [group, page] of groups) if (page.more !== true) this.#sent.add(placeKey(source, group));
    }
  }

  apply(answer: Answer): void {
    for (const [name, source] of answer.sources) {
      this.#sources.get(name)?.apply(source, answer.asOfMs);
      for (const group of source.gone) this.#confirmed.delete(placeKey(name, group));
    }
  }

  lose(answer: Answer): void {
    for (const [name, source] of answer.sources) this.#sources.get(name)?.lose(source);
  }

  noteOutcome(source: string, group: string, outcome: Outcome): void {
    this.#outcomes.set(placeKey(source, group, outcome.id), outcome);
    this.#unacknowledged.push(outcome);
  }

  /** The user has left the group, so the server may take the device for one that holds nothing of it. */
  noteLeft(group: string): void {
    for (const source of SOURCES) {
      this.#surelyConfirmed.delete(placeKey(source, group));
      this.#sent.delete(placeKey(source, group));
    }
  }

  held(source: string): ReadonlyMap<string, Objects> {
    const groups = this.#sources.get(source)?.groups ?? new Map<string, HeldGroup>();
    return new Map([...groups].map(([group, { objects }]) => [group, objects]));
  }

  /** What the device certainly told the server that it holds is at least as new; 0: it may have told nothing. */
  surelyConfirmedMs(source: string, group: string): number {
    const key = placeKey(source, group);
    return this.#surelyConfirmed.has(key) ? (this.#confirmed.get(key)?.asOfMs ?? 0) : 0;
  }

  hasConfirmed(source: string, group: string): boolean {
    return this.#confirmed.has(placeKey(source, group));
  }

  wasSentAll(source: string, group: string): boolean {
    return this.#sent.has(placeKey(source, group));
  }

  lastOutcome(source: string, group: string, id: string): Outcome | undefined {
    return this.#outcomes.get(placeKey(source, group, id));
  }

  /** The union of the groups, with the attributes of the group whose name sorts first. */
  union(source: string): Readonly<Record<string, Attributes>> {
    return unionOf(this.held(source));
  }

  #acknowledged(): NonNullable<DevicePullCall['acknowledged']> {
    const bySource = new Map<string, Map<string, string[]>>();
    for (const { source, group = '', op_id } of this.#unacknowledged) {
      const groups = bySource.get(source) ?? new Map<string, string[]>();
      bySource.set(source, groups.set(group, [...(groups.get(group) ?? []), op_id]));
    }
    return bySource;
  }
}

export function unionOf(groups: ReadonlyMap<string, Objects>): Readonly<Record<string, Attributes>> {
  const union: Record<string, Attributes> = {};
  for (const [, objects] of [...groups].sort(([left], [right]) => (left < right ? 1 : -1))) {
    for (const [id, attributes] of objects) union[id] = attributes;
  }
  return union;
}

export function answerOf({ pages, grouped, outcomes }: DevicePull, asOfMs: number): Answer {
  const sources = grouped.map(({ source, gone, changed, setToken, more }) => {
    const read = pages.flatMap(({ source: of, group, page }) =>
      of === source && group !== null && 'body' in page
        ? [[group, JSON.parse(pageJson(page.token, page.body)) as Page] as const]
        : [],
    );
    return [source, { groups: new Map(read), gone, changed, setToken, more }] as const;
  });
  return { asOfMs, sources: new Map(sources), outcomes };
}

function placeKey(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}
