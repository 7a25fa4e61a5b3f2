import { FRESHNESS_DEVICES_MAX } from '@tidemark/protocol';
import type { CommitRange } from '../journal/committed.ts';
import type { Clock } from '../ports/clock.ts';
import { partitionName } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';

export interface FreshnessParts {
  /** A monotonic clock: only durations are computed. */
  readonly clock: Clock;
  /** A device counts for so long after it was last seen here. */
  readonly windowMs: number;
  readonly devicesMax?: number;
}

/** What a device holds of a partition. */
export interface HeldState {
  readonly client: string;
  readonly epoch: string;
  /** The device holds every change up to this seq; null: it starts over and holds nothing yet. */
  readonly base: number | null;
}

/** Changes that devices began to miss at the same time: those after the group before, up to `upTo`. */
interface ChangeGroup {
  upTo: number;
  sinceMs: number;
  /** Devices for which this group is the oldest that they miss. */
  devices: number;
}

/** A device in one partition. */
interface FollowedDevice {
  readonly partition: FollowedPartition;
  group: ChangeGroup;
  seenAtMs: number;
}

const HOLDS_NOTHING = -1;
/** Groups of a partition before those that nobody waits for are dropped. */
const GROUPS_MIN = 16;
/** Devices that come back within this time share a group. */
const JOIN_MS = 1_000;

/**
 * Measures how long changes wait until active devices have acknowledged them. It is told of every commit and of every
 * token that a device presents, and keeps in memory which devices were seen within the window and what each of them
 * misses first. A commit costs the same for one device and for thousands: all devices that held everything before it
 * share one group, which the commit closes.
 */
export class Freshness {
  readonly #parts: Required<FreshnessParts>;
  readonly #partitions = new Map<string, FollowedPartition>();
  /** In the order in which they were last seen. */
  readonly #devices = new Map<string, FollowedDevice>();
  readonly #listeners = new Set<(source: string, tookMs: number) => void>();

  constructor(parts: FreshnessParts) {
    this.#parts = { devicesMax: FRESHNESS_DEVICES_MAX, ...parts };
  }

  /**
   * Calls the listener when a device acknowledges changes here, with the age of the oldest of them. Returns the unsubscribe
   * function.
   */
  onDelivered(listener: (source: string, tookMs: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notes a commit of this server, or one that another server has told of. */
  committed(key: PartitionKey, { epoch, upTo }: CommitRange): void {
    const partition = this.#partitions.get(partitionName(key));
    if (partition?.epoch === epoch) partition.advance(upTo, this.#nowMs);
  }

  /** Notes that a device was here and presented a token. `head` is that of the partition it was compared with. */
  presented(key: PartitionKey, held: HeldState, head: number): void {
    const nowMs = this.#nowMs;
    this.#forgetUnseen(nowMs);
    const partition = this.#follow(key, held.epoch, head, nowMs);
    const name = `${held.client}\n${partition.name}`;
    const known = this.#known(name, partition);
    const base = held.base ?? HOLDS_NOTHING;
    const tookMs = known === null ? null : partition.move(known, base, nowMs);
    const device = known ?? { partition, group: partition.enter(base, nowMs), seenAtMs: nowMs };
    device.seenAtMs = nowMs;
    this.#devices.delete(name);
    this.#devices.set(name, device);
    if (tookMs !== null) for (const listener of this.#listeners) listener(key.source, tookMs);
    if (this.#devices.size > this.#parts.devicesMax) this.#forgetOldest();
  }

  /** Notes that a device has acknowledged changes at another server. */
  acknowledgedElsewhere(key: PartitionKey, { client, epoch, base }: HeldState): void {
    const device = this.#devices.get(`${client}\n${partitionName(key)}`);
    if (device === undefined || base === null || device.partition.epoch !== epoch) return;
    const nowMs = this.#nowMs;
    device.partition.advance(base, nowMs);
    device.partition.move(device, base, nowMs);
  }

  /** How long the oldest change has waited that an active device has not acknowledged, by source; 0: none waits. */
  stalenessMs(): ReadonlyMap<string, number> {
    const nowMs = this.#nowMs;
    this.#forgetUnseen(nowMs);
    const sources = new Map<string, number>();
    for (const { source, oldestMs } of this.#partitions.values()) {
      const ageMs = oldestMs === null ? 0 : nowMs - oldestMs;
      sources.set(source, Math.max(ageMs, sources.get(source) ?? 0));
    }
    return sources;
  }

  get #nowMs(): number {
    return this.#parts.clock.nowMs();
  }

  #follow(key: PartitionKey, epoch: string, head: number, nowMs: number): FollowedPartition {
    const name = partitionName(key);
    const known = this.#partitions.get(name);
    if (known !== undefined && known.epoch === epoch) {
      known.advance(head, nowMs);
      return known;
    }
    const partition = new FollowedPartition(name, key.source, epoch, head);
    this.#partitions.set(name, partition);
    return partition;
  }

  /** Null: the device was not seen lately, or in another epoch of the partition. */
  #known(name: string, partition: FollowedPartition): FollowedDevice | null {
    const device = this.#devices.get(name);
    if (device === undefined || device.partition === partition) return device ?? null;
    this.#forget(name, device);
    return null;
  }

  #forgetUnseen(nowMs: number): void {
    for (const [name, device] of this.#devices) {
      if (nowMs - device.seenAtMs < this.#parts.windowMs) return;
      this.#forget(name, device);
    }
  }

  #forgetOldest(): void {
    const [oldest] = this.#devices;
    if (oldest !== undefined) this.#forget(...oldest);
  }

  #forget(name: string, { partition, group }: FollowedDevice): void {
    this.#devices.delete(name);
    partition.leave(group);
    if (partition.isEmpty && this.#partitions.get(partition.name) === partition) {
      this.#partitions.delete(partition.name);
    }
  }
}

/** The changes of a partition that devices miss, oldest first. */
class FollowedPartition {
  readonly name: string;
  readonly source: string;
  readonly epoch: string;
  #head: number;
  #devices = 0;
  #groups: ChangeGroup[] = [];
  /** Devices that hold everything. The next commit makes it a group of changes that they miss. */
  #upToDate: ChangeGroup = openGroup();
  #groupsMax = GROUPS_MIN;

  constructor(name: string, source: string, epoch: string, head: number) {
    this.name = name;
    this.source = source;
    this.epoch = epoch;
    this.#head = head;
  }

  get isEmpty(): boolean {
    return this.#devices === 0;
  }

  /** When the oldest missed change was committed; null: all devices hold everything. */
  get oldestMs(): number | null {
    return this.#groups.find(({ devices }) => devices > 0)?.sinceMs ?? null;
  }

  advance(head: number, nowMs: number): void {
    if (head <= this.#head) return;
    this.#head = head;
    if (this.isEmpty) return;
    this.#append(Object.assign(this.#upToDate, { upTo: head, sinceMs: nowMs }));
    this.#upToDate = openGroup();
  }

  /** Returns the group of a device that was not followed before: what it misses counts from now. */
  enter(base: number, nowMs: number): ChangeGroup {
    return this.#join(base >= this.#head ? this.#upToDate : this.#missingFrom(nowMs));
  }

  leave(group: ChangeGroup): void {
    group.devices -= 1;
    this.#devices -= 1;
    while (this.#groups[0]?.devices === 0) this.#groups.shift();
  }

  /** Notes what a device holds now. Returns the age of the oldest change that it has acknowledged by that; null: there is none. */
  move(device: FollowedDevice, base: number, nowMs: number): number | null {
    const { group } = device;
    const wasUpToDate = group === this.#upToDate;
    if (wasUpToDate ? base >= this.#head : base < group.upTo) return null;
    // What a device misses that went back counts from now.
    const next = wasUpToDate ? undefined : this.#groups.find(({ upTo }) => upTo > base);
    device.group = next === undefined ? this.enter(base, nowMs) : this.#join(next);
    this.leave(group);
    return wasUpToDate ? null : nowMs - group.sinceMs;
  }

  #join(group: ChangeGroup): ChangeGroup {
    group.devices += 1;
    this.#devices += 1;
    return group;
  }

  #missingFrom(nowMs: number): ChangeGroup {
    const last = this.#groups.at(-1);
    if (last?.upTo === this.#head && nowMs - last.sinceMs < JOIN_MS) return last;
    const group = { upTo: this.#head, sinceMs: nowMs, devices: 0 };
    this.#append(group);
    return group;
  }

  /** Drops groups that nobody waits for when there are many: a device that stays behind does not make the list grow. */
  #append(group: ChangeGroup): void {
    if (this.#groups.length >= this.#groupsMax) {
      this.#groups = this.#groups.filter(({ devices }) => devices > 0);
      this.#groupsMax = Math.max(GROUPS_MIN, 2 * this.#groups.length);
    }
    this.#groups.push(group);
  }
}

function openGroup(): ChangeGroup {
  return { upTo: Number.POSITIVE_INFINITY, sinceMs: 0, devices: 0 };
}
