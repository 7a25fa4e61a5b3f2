import { setTimeout as sleep } from 'node:timers/promises';
import type { Rng } from '@tidemark/testing/kit';
import type { ObjectsGiven } from '../model/write.ts';
import { type AdminClient, RefusedCall } from '../processes/admin-client.ts';
import type { MembershipHistory } from './memberships.ts';
import { type ChaosPartition, documentPath, GROUPS, ownerOf, PUSHED, USERS } from './partitions.ts';
import type { RegisterWrite } from './register-history.ts';
import type { DocumentRegister, Register, Registers } from './registers.ts';

export interface PusherParts {
  /** Calls through a network with faults. */
  readonly admin: AdminClient;
  /** Calls that the network does not disturb; a server may still die. */
  readonly control: AdminClient;
  readonly registers: Registers;
  readonly memberships: MembershipHistory;
  readonly rng: Rng;
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
const BATCHES_PERCENT = 15;
const BATCH_READ_MS_MAX = 400;
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
    const { rng } = this.#parts;
    while (!isOver()) {
      await sleep(rng.below(PAUSE_MS_MAX));
      const partition = rng.pick(PUSHED);
      if (rng.chance(READS_PERCENT)) await this.#read(partition);
      else if (rng.chance(BATCHES_PERCENT)) await this.#pushBatch(partition);
      else if (rng.chance(DELETES_PERCENT)) await this.#pushAndDelete(partition);
      else await this.#push(rng.pick(this.#parts.registers.of(partition)));
    }
  }

  /** Replaces and reads documents, again and again. */
  async runDocuments(isOver: () => boolean): Promise<void> {
    const { rng, registers } = this.#parts;
    while (!isOver()) {
      await sleep(rng.below(PAUSE_MS_MAX));
      await this.#useDocument(rng.pick(registers.documents));
    }
  }

  /** Changes the groups of users, again and again. */
  async runMembers(isOver: () => boolean): Promise<void> {
    const { rng } = this.#parts;
    while (!isOver()) {
      await sleep(rng.below(MEMBERS_PAUSE_MS_MAX));
      await this.setGroups(
        rng.pick(USERS),
        GROUPS.filter(() => rng.chance(50)),
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
      await this.#pushBatchBy(control, partition);
      await control.call('POST', `/app/v1/${source}/push_deletes`, { ...owner, objects: tombstoneIds(partition) });
      await this.#readBy(control, partition);
    }
    for (const document of registers.documents) {
      // It does not exist before it is first written.
      await this.#readDocument(document).catch(() => undefined);
      document.settled = await this.#writeDocument(document);
      await this.#readDocument(document);
    }
  }

  /** Pushes one value. Throws when the call fails: everything must be healed. */
  async pushOne(): Promise<{ readonly register: Register; readonly value: number }> {
    const { control, rng, registers } = this.#parts;
    const register = rng.pick(registers.all);
    const { source, ...owner } = register.partition;
    const value = registers.nextValue();
    const write = register.history.begin(value, performance.now());
    const objects = { [register.id]: body(register.partition, value) };
    await control.call('POST', `/app/v1/${source}/push_objects`, { ...owner, objects });
    write.endMs = performance.now();
    return { register, value };
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
    } catch (error) {
      await this.#onFailure(write, error);
    }
  }

  /** A call that was refused has happened before its answer, or never will. One without an answer may still happen. */
  async #onFailure(write: RegisterWrite, error: unknown): Promise<void> {
    if (error instanceof RefusedCall) {
      write.endMs = performance.now();
      write.isRefused = true;
    }
    this.unanswered++;
    await sleep(RETRY_MS);
  }

  async #useDocument(document: DocumentRegister): Promise<void> {
    if (this.#parts.rng.chance(50)) return this.#readDocument(document).catch(() => undefined);
    await this.#writeDocument(document).catch(() => undefined);
  }

  /** Replaces the document, whatever it was. The network of these calls has no faults, so each is sent once. */
  async #writeDocument({ name, history }: DocumentRegister): Promise<number> {
    const { control, registers } = this.#parts;
    const value = registers.nextValue();
    const write = history.begin(value, performance.now());
    try {
      await control.call('POST', `/rc/v1/store/${name}`, { data: String(value) });
      write.endMs = performance.now();
      return value;
    } catch (error) {
      await this.#onFailure(write, error);
      throw error;
    }
  }

  async #readDocument(document: DocumentRegister): Promise<void> {
    const { control, registers } = this.#parts;
    const startMs = performance.now();
    const text = await control.call('GET', `/rc/v1/store/${document.name}`);
    registers.recordDocument(document, Number(text), startMs);
  }

  /** Pushes a batch, and reads the partition meanwhile. */
  async #pushBatch(partition: ChaosPartition): Promise<void> {
    const pushed = this.#pushBatchBy(this.#parts.admin, partition).catch(() => undefined);
    await sleep(this.#parts.rng.below(BATCH_READ_MS_MAX));
    await this.#read(partition);
    await pushed;
  }

  async #pushBatchBy(admin: AdminClient, partition: ChaosPartition): Promise<void> {
    const { registers } = this.#parts;
    const batch = registers.batchOf(partition);
    const value = registers.nextValue();
    const { source, ...owner } = partition;
    const objects = Object.fromEntries(batch.ids.map((id) => [id, body(partition, value)]));
    await admin.call('POST', `/app/v1/${source}/push_objects`, { ...owner, objects });
    batch.settled = value;
  }

  /** Makes objects and tombstones that devices have to follow; whether they took effect is settled at the end. */
  async #pushAndDelete(partition: ChaosPartition): Promise<void> {
    const { admin, rng } = this.#parts;
    const { source, ...owner } = partition;
    const id = rng.pick(tombstoneIds(partition));
    const call = rng.chance(50)
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
