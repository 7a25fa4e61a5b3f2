import { Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { generationGuard } from '../admission/admit-write.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EntryWrite, Guard, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { KeyedMutex } from '../primitives/keyed-mutex.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import type { FileAccess } from './file-access.ts';
import {
  arrivingWrite,
  claimOf,
  claimWrite,
  type FileRecord,
  fileWrites,
  NOBODY,
  readFile,
  readGeneration,
  readSender,
  readUsage,
  usageOf,
  usageWrite,
  type Versioned,
  withoutFile,
} from './file-entries.ts';

/** Who sends the bytes of a file. */
export type FileSender = { readonly kind: 'backend' } | { readonly kind: 'user'; readonly login: string };

/** A file whose bytes arrive. */
export interface FileArrival {
  readonly sha256: string;
  readonly size: number;
  readonly by: FileSender;
}

export interface FileArrivalsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly access: FileAccess;
  /** Bytes of all stored files that one user has sent. */
  readonly quotaBytes: number;
}

/** How long a file that becomes stored keeps room in the quota: longer than it takes to put the largest one together. */
export const FILE_ARRIVAL_MS = 3_600_000;

/** Follows the bytes of files from the first question to the moment at which they are durable. */
export class FileArrivals {
  readonly #ports: FileArrivalsPorts;
  readonly #store: Store;
  readonly #turns = new KeyedMutex();

  constructor(ports: FileArrivalsPorts) {
    this.#ports = ports;
    this.#store = ports.store;
  }

  /**
   * Tells whether the sender has to send the bytes. A user who could not read the file has to, even if it is here: who only
   * knows the hash must not learn that.
   */
  async begin(arrival: FileArrival): Promise<'present' | 'needed'> {
    if (await this.isPresent(arrival)) return 'present';
    await this.#roomFor(arrival);
    return 'needed';
  }

  /** Whether the sender need not send the bytes. Nothing else tells whether the file is here, not even the quota. */
  isPresent(arrival: FileArrival): Promise<boolean> {
    return retryOnConflict(async () => {
      const file = await readFile(this.#store, arrival.sha256);
      if (!isStored(file.value) || !(await this.#hasFile(loginOf(arrival.by), arrival.sha256, file.value)))
        return false;
      return this.#keep(arrival, file, file.value);
    });
  }

  /** Whether the bytes are here, for a user who has the file. */
  async hasArrived(login: string, sha256: string): Promise<boolean> {
    const { value } = await readFile(this.#store, sha256);
    return isStored(value) && this.#hasFile(login, sha256, value);
  }

  /** Keeps the collector off the bytes that become a file now, and room for them in the quota of the sender. */
  async arriving(arrival: FileArrival): Promise<void> {
    const login = loginOf(arrival.by);
    await this.#countInTurn(async () => {
      const guards = login === null ? [] : [await this.#requireUser(login)];
      const room = await this.#roomFor(arrival);
      const file = await readFile(this.#store, arrival.sha256);
      const next = { ...this.#alive(arrival, file.value), touchedMs: this.#ports.clock.nowMs() };
      return this.#write([...(await fileWrites(this.#store, arrival.sha256, file, next)), ...room], guards);
    });
  }

  /** Gives back the room of a file that is not stored after all, unless another upload of it goes on. */
  async failed({ sha256, by }: FileArrival): Promise<void> {
    const login = loginOf(by);
    if (login === null) return;
    await this.#countInTurn(async () => {
      const usage = await readUsage(this.#store, login);
      const arriving = usage.value?.arriving ?? {};
      const file = arriving[sha256];
      if (file === undefined) return true;
      const others = withoutFile(arriving, sha256);
      const uploads = (file.uploads ?? 1) - 1;
      return this.#write([
        arrivingWrite(login, usage, uploads === 0 ? others : { ...others, [sha256]: { ...file, uploads } }),
      ]);
    });
  }

  /** Notes that the bytes are durable. They count for the sender once, however often they were sent. */
  async stored(arrival: FileArrival): Promise<void> {
    const { sha256, size, by } = arrival;
    const login = loginOf(by);
    const { store, clock } = this.#ports;
    await this.#countInTurn(async () => {
      const file = await readFile(store, sha256);
      const nowMs = clock.nowMs();
      const alive = this.#alive(arrival, file.value);
      const wasStored = isStored(file.value);
      const storedAtMs = wasStored ? alive.storedAtMs : nowMs;
      const next = { ...alive, size, storedAtMs, missingSinceMs: null, touchedMs: nowMs };
      const user = login === null ? null : await this.#requireUser(login);
      const generation = user?.version ?? null;
      const writes = [
        ...(await fileWrites(store, sha256, file, next)),
        ...(await this.#senderWrites(arrival, next.life, generation)),
        ...(await this.#provenClaims(sha256, login, generation)),
      ];
      if (!wasStored) {
        const one = { generation: null, files: 1, bytes: size };
        writes.push(usageWrite(null, await readUsage(store, null), one));
      }
      return this.#write(writes, user === null ? [] : [user]);
    });
  }

  /** Notes that the bytes are gone. Devices that have the file send it again. */
  async lost(sha256: string): Promise<void> {
    const { store, clock } = this.#ports;
    await this.#countInTurn(async () => {
      const file = await readFile(store, sha256);
      const { value } = file;
      if (!isStored(value)) return true;
      const claims = await store.listEntries({ kind: 'file_claim', prefix: [sha256], limit: 1 });
      const missingSinceMs = claims.length === 0 ? null : clock.nowMs();
      const next = { ...value, storedAtMs: null, missingSinceMs };
      const one = { generation: null, files: -1, bytes: -value.size };
      const usage = usageWrite(null, await readUsage(store, null), one);
      return this.#write([...(await fileWrites(store, sha256, file, next)), usage]);
    });
  }

  /** Returns those of the given files that are missing and that the user has sent or may read. Mostly nothing is missing at all. */
  async lostAmong(login: string, files: readonly string[]): Promise<readonly string[]> {
    const { store } = this.#ports;
    const lost: string[] = [];
    if ((await store.countEntries('file_missing')) === 0) return lost;
    for (const sha256 of new Set(files)) {
      const { value } = await readFile(store, sha256);
      if (value === null || value.missingSinceMs === null) continue;
      if (await this.#hasFile(login, sha256, value)) lost.push(sha256);
    }
    return lost;
  }

  /** Notes that bytes are here of which the sender is not known, for example after a restore. */
  async found(sha256: string, size: number): Promise<void> {
    const { store, clock } = this.#ports;
    await this.#countInTurn(async () => {
      const file = await readFile(store, sha256);
      const { value } = file;
      if (value === null || value.isRemoved === true || isStored(value)) return true;
      const next = { ...value, size, storedAtMs: clock.nowMs(), missingSinceMs: null };
      const one = { generation: null, files: 1, bytes: size };
      const usage = usageWrite(null, await readUsage(store, null), one);
      return this.#write([...(await fileWrites(store, sha256, file, next)), usage]);
    });
  }

  /** A user who may read the file has it, and so has one who has sent it. A backend has every file. */
  async #hasFile(login: string | null, sha256: string, { life }: FileRecord): Promise<boolean> {
    if (login === null) return true;
    const sender = await readSender(this.#store, sha256, login);
    const hasSent = sender?.life === life && sender.generation === (await readGeneration(this.#store, login));
    return hasSent || this.#ports.access.mayRead(login, sha256);
  }

  /** Keeps the file for whoever was told that it is here, and makes their earlier references good. */
  async #keep({ sha256, by }: FileArrival, file: Versioned<FileRecord>, value: FileRecord): Promise<true | null> {
    const login = loginOf(by);
    const generation = login === null ? null : await readGeneration(this.#store, login);
    const claims = await this.#provenClaims(sha256, login, generation);
    const next = { ...value, touchedMs: this.#ports.clock.nowMs() };
    return this.#write([...(await fileWrites(this.#store, sha256, file, next)), ...claims]);
  }

  #alive({ size }: FileArrival, old: FileRecord | null): FileRecord {
    if (old !== null && old.isRemoved !== true) return old;
    const life = randomId(this.#ports.random);
    const nobody = { type: null, name: null, storedAtMs: null, missingSinceMs: null };
    return { life, size, ...nobody, touchedMs: this.#ports.clock.nowMs() };
  }

  async #senderWrites({ sha256, size, by }: FileArrival, life: string, generation: number | null) {
    const login = loginOf(by);
    const old = await readSender(this.#store, sha256, login);
    const isCounted = old !== null && old.generation === generation;
    const writes: EntryWrite[] = [];
    if (!isCounted || old.life !== life) {
      const value = JSON.stringify({ life, generation, size });
      writes.push({ ...refs.fileSender(sha256, login), value, expect: old?.version ?? 0 });
    }
    const usage = login === null ? null : await readUsage(this.#store, login);
    // What was sent in an earlier life of the file still counts.
    const added = isCounted ? { generation, files: 0, bytes: 0 } : { generation, files: 1, bytes: size };
    const hasRoom = usage?.value?.arriving?.[sha256] !== undefined;
    if (usage !== null && (!isCounted || hasRoom)) writes.push(usageWrite(login, usage, added, sha256));
    return writes;
  }

  /** References that were made before the bytes came count from now on. */
  async #provenClaims(sha256: string, login: string | null, generation: number | null): Promise<EntryWrite[]> {
    const writes: EntryWrite[] = [];
    for await (const entry of allEntries(this.#store, 'file_claim', [sha256])) {
      const claim = claimOf(entry);
      if (claim.isProven || claim.login !== login) continue;
      if (login === null ? claim.generation === NOBODY : claim.generation !== generation) continue;
      writes.push(claimWrite(claim, { isProven: true }));
    }
    return writes;
  }

  /** Returns the write that keeps room for a file in the quota of its sender. Refuses when there is none. */
  async #roomFor({ sha256, size, by }: FileArrival): Promise<readonly EntryWrite[]> {
    const login = loginOf(by);
    if (login === null) return [];
    const nowMs = this.#ports.clock.nowMs();
    const generation = await readGeneration(this.#store, login);
    const { value, version } = await readUsage(this.#store, login);
    const sender = await readSender(this.#store, sha256, login);
    // What the user has sent before counts already. If the collector forgets that, the room grows to the size of the file.
    const isCounted = sender !== null && sender.generation === generation;
    const usage = usageOf(value, generation, nowMs);
    const others = withoutFile(usage.arriving, sha256);
    const used = Object.values(others).reduce((sum, file) => sum + file.size, usage.bytes);
    const { quotaBytes } = this.#ports;
    if (isCounted || used + size <= quotaBytes) {
      const same = usage.arriving[sha256];
      const uploads = same === undefined ? 1 : (same.uploads ?? 1) + 1;
      const room = { size: isCounted ? 0 : size, uploads, untilMs: nowMs + FILE_ARRIVAL_MS };
      const arriving = { ...others, [sha256]: room };
      return [arrivingWrite(login, { value: usage, version }, arriving)];
    }
    const detail =
      `the files of ${quoted(login)} have ${used} bytes, and with these ${size} they would have more than the ` +
      `${quotaBytes} allowed; files that nothing refers to any more are deleted later and make room`;
    throw new Refusal('quota_exceeded', detail);
  }

  /** Returns the guard for what only this user may write. */
  async #requireUser(login: string): Promise<Guard> {
    const generation = await readGeneration(this.#store, login);
    if (generation !== null) return generationGuard(login, generation);
    throw new Refusal('user_not_found', `the user ${quoted(login)} was deleted meanwhile`);
  }

  /** All files are counted in one entry, so those that arrive at the same moment take turns. */
  #countInTurn(attempt: () => Promise<true | null>): Promise<true> {
    return this.#turns.take('usage', () => retryOnConflict(attempt));
  }

  /** Null: something is not as it was read. */
  async #write(writes: readonly EntryWrite[], guards: readonly Guard[] = []): Promise<true | null> {
    const result = await this.#store.writeEntries({ writes, guards });
    if (result.status === 'gone') throw refuseGone(result.guard);
    return result.status === 'written' ? true : null;
  }
}

/** Whether the bytes are here. */
export function isStored(file: FileRecord | null): file is FileRecord & { readonly storedAtMs: number } {
  return file !== null && file.storedAtMs !== null && file.isRemoved !== true;
}

function loginOf(by: FileSender): string | null {
  return by.kind === 'user' ? by.login : null;
}
