import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from '@tidemark/testing/kit';
import type { ObjectsGiven } from '../model/write.ts';
import type { AdminClient } from '../processes/admin-client.ts';
import type { MembershipHistory } from './memberships.ts';
import { type ChaosPartition, documentPath, GROUPS, ownerOf, PUSHED, USERS } from './partitions.ts';
import type { Register, Registers } from './registers.ts';

export interface PusherParts {
  /** Calls through a network with faults. */
  readonly admin: AdminClient;
  /** Calls that the network does not disturb; a server may still die. */
  readonly control: AdminClient;
  readonly registers: Registers;
  readonly memberships: MembershipHistory;
  readonly dice: Dice;
}

/** An acknowledged push, for receipts. */
export interface AcknowledgedPush {
  readonly register: Register;
  readonly value: number;
  readonly seq: number;
}

const PAUSE_MS_MAX = 40;
const RETRY_MS = 100;
const MEMBERS_PAUSE_MS_MAX = 600;
const TOMBSTONE_IDS = 3;
const READS_PERCENT = 30;
const DELETES_PERCENT = 10;
const RECENT_MAX = 50;

/** Backends that push, readers, and an administrator who changes groups. None of them repeats a call that failed. */
export class Pushers {
  acknowledged = 0;
  unanswered = 0;
  reads = 0;
  readonly recent: AcknowledgedPush[] = [];
  readonly #parts: PusherParts;

  constructor(parts: PusherParts) {
    this.#parts = parts;
  }

  async run(isOver: () => boolean): Promise<void> {
    const { dice } = this.#parts;
    while (!isOver()) {
      await sleep(dice.below(PAUSE_MS_MAX));
      const partition = dice.pick(PUSHED);
      if (dice.chance(READS_PERCENT)) await this.#read(partition);
      else if (dice.chance(DELETES_PERCENT)) await this.#pushAndDelete(partition);
      else await this.#push(dice.pick(this.#parts.registers.of(partition)));
    }
  }

  /** Changes the groups of users, again and again. */
  async runMembers(isOver: () => boolean): Promise<void> {
    const { dice } = this.#parts;
    while (!isOver()) {
      await sleep(dice.below(MEMBERS_PAUSE_MS_MAX));
      await this.setGroups(
        dice.pick(USERS),
        GROUPS.filter(() => dice.chance(50)),
      ).catch(() => undefined);
    }
  }

  async setGroups(user: string, groups: readonly string[]): Promise<void> {
    const { control, memberships } = this.#parts;
    const change = memberships.begin(user, groups);
    await control.call('PUT', `/rc/v1/users/${user}/groups`, { groups });
    change.acknowledge(performance.now());
  }

  /**
   * Reads everything, then gives every object a last value, and removes what pushers have deleted only in part. Throws when
   * a call fails: everything must be healed.
   */
  async settle(): Promise<void> {
    const { control, registers } = this.#parts;
    for (const partition of PUSHED) {
      await this.#readBy(control, partition);
      const { source, ...owner } = partition;
      const values = registers.of(partition).map((register) => ({ register, value: registers.nextValue() }));
      const objects = Object.fromEntries(values.map(({ register, value }) => [register.id, body(partition, value)]));
      const writes = values.map(({ register, value }) => register.history.begin(value, performance.now()));
      await control.call('POST', `/app/v1/${source}/push_objects`, { ...owner, objects });
      for (const write of writes) write.endMs = performance.now();
      for (const { register, value } of values) register.settled = value;
      await control.call('POST', `/app/v1/${source}/push_deletes`, { ...owner, objects: tombstoneIds(partition) });
      await this.#readBy(control, partition);
    }
  }

  async #push(register: Register): Promise<void> {
    const { admin, registers } = this.#parts;
    const value = registers.nextValue();
    const { source, ...owner } = register.partition;
    const write = register.history.begin(value, performance.now());
    const objects = { [register.id]: body(register.partition, value) };
    try {
      const answer = await admin.call('POST', `/app/v1/${source}/push_objects`, { ...owner, objects });
      write.endMs = performance.now();
      this.acknowledged++;
      this.recent.push({ register, value, seq: (answer as { readonly seq: number }).seq });
      if (this.recent.length > RECENT_MAX) this.recent.shift();
    } catch {
      this.unanswered++;
      await sleep(RETRY_MS);
    }
  }

  /** Makes objects and tombstones that devices have to follow; whether they took effect is settled at the end. */
  async #pushAndDelete(partition: ChaosPartition): Promise<void> {
    const { admin, dice } = this.#parts;
    const { source, ...owner } = partition;
    const id = dice.pick(tombstoneIds(partition));
    const call = dice.chance(50)
      ? admin.call('POST', `/app/v1/${source}/push_objects`, { ...owner, objects: { [id]: body(partition, 0) } })
      : admin.call('POST', `/app/v1/${source}/push_deletes`, { ...owner, objects: [id] });
    await call.catch(() => undefined);
  }

  async #read(partition: ChaosPartition): Promise<void> {
    await this.#readBy(this.#parts.admin, partition).catch(() => undefined);
  }

  async #readBy(admin: AdminClient, partition: ChaosPartition): Promise<void> {
    const startMs = performance.now();
    const objects = (await admin.call('GET', documentPath(partition))) as ObjectsGiven;
    this.#parts.registers.recordRead(partition, objects, startMs);
    this.reads++;
  }
}

function body(partition: ChaosPartition, n: number) {
  return { n, owner: ownerOf(partition) };
}

function tombstoneIds(partition: ChaosPartition): readonly string[] {
  return Array.from({ length: TOMBSTONE_IDS }, (_, count) => `${ownerOf(partition)}-t${count}`);
}
