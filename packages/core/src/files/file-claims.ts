import { COMMIT_ATTEMPTS_MAX, type FileReference, Refusal } from '@tidemark/protocol';
import { refs } from '../entries/refs.ts';
import type { NewRecord } from '../journal/record.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { CommitResult, EntryWrite, Guard, PartitionKey, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { KeyedMutex } from '../primitives/keyed-mutex.ts';
import type { FileAccess } from './file-access.ts';
import {
  claimText,
  type FileClaim,
  type FileRecord,
  fileWrites,
  type ReadClaim,
  readClaims,
  readFile,
  readGeneration,
  readSender,
  type Versioned,
  waitingWrites,
} from './file-entries.ts';

/** Who refers to files: the backend, by a push or an answer of its adapter, or a device. */
export type FileClaimant =
  | { readonly kind: 'backend' }
  | { readonly kind: 'user'; readonly login: string; readonly client: string };

export const BACKEND: FileClaimant = { kind: 'backend' };

export interface FileClaimsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly access: FileAccess;
}

/** Files that are claimed at the same time. */
const CLAIMS_AT_ONCE = 50;
const NO_GUARDS: readonly Guard[] = [];
const NO_FILES: readonly FileReference[] = [];

type NewClaim = Pick<FileClaim, 'isProven' | 'generation' | 'client'> & { readonly login: string | null };

/**
 * Notes who refers to files, before a commit makes the references. The commit is guarded by the claims: the collector
 * changes a claim before it takes the file for unreferenced, so a commit that it has not seen fails and claims again. A claim
 * whose reference is never made does no harm, and is collected.
 */
export class FileClaims {
  readonly #ports: FileClaimsPorts;
  readonly #queues = new KeyedMutex();

  constructor(ports: FileClaimsPorts) {
    this.#ports = ports;
  }

  /** Claims the files that changes add. Returns guards for their commit. Changes without files cost nothing. */
  async claimAdded(
    partition: PartitionKey,
    changes: readonly Pick<NewRecord, 'added'>[],
    claimant: FileClaimant,
  ): Promise<readonly Guard[]> {
    const added = addedBy(changes);
    return added.length === 0 ? NO_GUARDS : this.claim(partition, added, claimant);
  }

  async claim(
    partition: PartitionKey,
    files: readonly FileReference[],
    claimant: FileClaimant,
  ): Promise<readonly Guard[]> {
    const login = claimant.kind === 'user' ? claimant.login : null;
    const client = claimant.kind === 'user' ? claimant.client : null;
    const generation = await this.#generationFor(partition, login);
    return this.#claimAll(partition, files, async ({ sha256 }, file) => [
      { login, client, generation, isProven: await this.#isProven(partition, sha256, login, file) },
    ]);
  }

  /** Claims the files that objects bring along which are moved from another partition, in the name of who claimed them there. */
  async claimMoved(
    from: PartitionKey,
    to: PartitionKey,
    changes: readonly Pick<NewRecord, 'added'>[],
  ): Promise<readonly Guard[]> {
    const added = addedBy(changes);
    if (added.length === 0) return NO_GUARDS;
    return this.#claimAll(to, added, async ({ sha256 }) => {
      const claims = await this.#claimsIn(from, sha256);
      return claims.map(({ login, client, generation, isProven }) => ({ login, client, generation, isProven }));
    });
  }

  async #claimAll(
    partition: PartitionKey,
    files: readonly FileReference[],
    claimsOf: (file: FileReference, record: Versioned<FileRecord>) => Promise<readonly NewClaim[]>,
  ): Promise<readonly Guard[]> {
    const guards: Guard[] = [];
    for (let start = 0; start < files.length; start += CLAIMS_AT_ONCE) {
      const some = files.slice(start, start + CLAIMS_AT_ONCE);
      const found = await Promise.all(some.map((file) => this.#claimOne(partition, file, claimsOf)));
      guards.push(...found.flat());
    }
    return guards;
  }

  async #claimOne(
    partition: PartitionKey,
    file: FileReference,
    claimsOf: (file: FileReference, record: Versioned<FileRecord>) => Promise<readonly NewClaim[]>,
  ): Promise<readonly Guard[]> {
    // A form that is sent out to all is claimed in many partitions at once.
    return this.#queues.take(file.sha256, async () => {
      for (let attempt = 0; attempt < COMMIT_ATTEMPTS_MAX; attempt++) {
        const record = await readFile(this.#ports.store, file.sha256);
        const guards = await this.#tryClaim(partition, file, record, await claimsOf(file, record));
        if (guards !== null) return guards;
      }
      const detail = `the file ${file.sha256} was stored or removed ${COMMIT_ATTEMPTS_MAX} times meanwhile; try again`;
      throw new Refusal('file_busy', detail);
    });
  }

  /** Null: somebody was faster. */
  async #tryClaim(
    partition: PartitionKey,
    file: FileReference,
    record: Versioned<FileRecord>,
    claims: readonly NewClaim[],
  ): Promise<readonly Guard[] | null> {
    const { store, clock } = this.#ports;
    const { sha256 } = file;
    const stored = await this.#claimsIn(partition, sha256);
    const isKnown = record.value !== null && record.value.isRemoved !== true;
    const writes: EntryWrite[] = [];
    const versions = new Map<string | null, number>();
    for (const claim of claims) {
      const old = stored.find(({ login }) => login === claim.login) ?? null;
      const next = joinedClaim(old, claim, partition, clock.nowMs());
      if (old !== null && isKnown && claimText(next) === claimText(old)) versions.set(old.login, old.version);
      else {
        const ref = refs.fileClaim(sha256, partition, claim.login);
        writes.push({ ...ref, value: claimText(next), expect: old?.version ?? 0 });
      }
    }
    if (writes.length > 0) {
      const next = this.#claimedFile(file, record.value);
      const made = claims.map(({ client }) => ({ partition, client }));
      const waiting = waitingWrites(sha256, next.missingSinceMs, made);
      const ofFile = await fileWrites(store, sha256, record, next);
      const result = await store.writeEntries({ writes: oncePerEntry([...writes, ...ofFile, ...waiting]), guards: [] });
      if (result.status !== 'written') return null;
      for (const { login, version } of await this.#claimsIn(partition, sha256)) versions.set(login, version);
    }
    return claims.flatMap(({ login }) => {
      const version = versions.get(login);
      return version === undefined ? [] : [{ ...refs.fileClaim(sha256, partition, login), version }];
    });
  }

  #claimedFile(file: FileReference, old: FileRecord | null): FileRecord {
    const { size, type } = file;
    const name = file.name ?? null;
    const nowMs = this.#ports.clock.nowMs();
    if (old === null || old.isRemoved === true) {
      const life = randomId(this.#ports.random);
      return { life, size, type, name, storedAtMs: null, missingSinceMs: nowMs, touchedMs: nowMs };
    }
    const missingSinceMs = old.storedAtMs === null ? (old.missingSinceMs ?? nowMs) : null;
    return { ...old, type: old.type ?? type, name: old.name ?? name, missingSinceMs, touchedMs: nowMs };
  }

  #claimsIn(partition: PartitionKey, sha256: string): Promise<readonly ReadClaim[]> {
    return readClaims(this.#ports.store, sha256, partition);
  }

  #generationFor({ owner }: PartitionKey, login: string | null): Promise<number | null> {
    const user = owner.kind === 'user' ? owner.login : login;
    return user === null ? Promise.resolve(null) : readGeneration(this.#ports.store, user);
  }

  /**
   * Whether the claimant has the file. A backend may refer to every file, unless it only repeats what a device has written
   * here that did not have the file itself: then its reference proves nothing before it has sent the bytes.
   */
  async #isProven(
    partition: PartitionKey,
    sha256: string,
    login: string | null,
    { value }: Versioned<FileRecord>,
  ): Promise<boolean> {
    const { store, access } = this.#ports;
    const life = value === null || value.isRemoved === true ? null : value.life;
    const sender = life === null ? null : await readSender(store, sha256, login);
    const hasSent = sender !== null && sender.life === life;
    if (login === null) return hasSent || !(await this.#isRepeated(partition, sha256));
    if (hasSent && sender.generation === (await readGeneration(store, login))) return true;
    return life !== null && access.mayRead(login, sha256);
  }

  /** Whether a user who may not have had the file has referred to it here. A user who was deleted since counts no more. */
  async #isRepeated(partition: PartitionKey, sha256: string): Promise<boolean> {
    for (const { login, isProven, generation } of await this.#claimsIn(partition, sha256)) {
      if (login === null || isProven) continue;
      if (generation === (await readGeneration(this.#ports.store, login))) return true;
    }
    return false;
  }
}

/** Most commits have no files: their guards stay as they are. */
export function joinGuards(guards: readonly Guard[], claims: readonly Guard[]): readonly Guard[] {
  return claims.length === 0 ? guards : [...guards, ...claims];
}

/** A claim that the collector has changed meanwhile makes the writer try again. */
export function withoutLostClaims(result: CommitResult): CommitResult {
  return result.status === 'gone' && result.guard.kind === 'file_claim' ? { status: 'conflict' } : result;
}

/** The lists of other claims may be those of a new one. */
function oncePerEntry(writes: readonly EntryWrite[]): readonly EntryWrite[] {
  return [...new Map(writes.map((write) => [JSON.stringify([write.kind, ...write.key]), write])).values()];
}

/** Returns the files that changes add, each once. */
function addedBy(changes: readonly Pick<NewRecord, 'added'>[]): readonly FileReference[] {
  let files: Map<string, FileReference> | null = null;
  for (const { added } of changes) {
    if (added === undefined) continue;
    files ??= new Map();
    for (const file of added) files.set(file.sha256, file);
  }
  return files === null ? NO_FILES : [...files.values()];
}

/** Returns a claim that says the same as the stored one, as far as that still holds, and the new one. */
function joinedClaim(
  old: ReadClaim | null,
  { isProven, generation, client }: NewClaim,
  { owner }: PartitionKey,
  nowMs: number,
): FileClaim {
  if (old === null) return { isProven, generation, client, atMs: nowMs, idleSinceMs: null };
  // What an earlier user of this login had proven in their own data is not true of the next one.
  const wasProven = old.isProven && (owner.kind !== 'user' || old.generation === generation);
  const { atMs } = old;
  // Neither is the device of an earlier user one of the next.
  const known = old.generation === generation ? (old.client ?? client) : client;
  return { isProven: wasProven || isProven, generation, client: known, atMs, idleSinceMs: null };
}
