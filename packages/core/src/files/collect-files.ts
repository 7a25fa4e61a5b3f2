import { allEntries } from '../entries/all-entries.ts';
import type { Clock } from '../ports/clock.ts';
import type { FileBytes } from '../ports/file-bytes.ts';
import type { EntryWrite, Store } from '../ports/store.ts';
import type { Sources } from '../sources/sources.ts';
import { ClaimCollector } from './collect-claims.ts';
import { CollectedBytes, type OnFailed } from './collected-bytes.ts';
import { isStored } from './file-arrivals.ts';
import {
  claimOf,
  type FileRecord,
  fileRemovals,
  fileWrites,
  forgottenWrite,
  type ReadSender,
  readFile,
  readGeneration,
  readUsage,
  senderOf,
  usageWrite,
} from './file-entries.ts';
import { readFilePlace } from './stored-files.ts';

/** Where a round of the collector goes on. */
export interface CollectPosition {
  readonly stage: 'unfinished' | 'files' | 'bytes' | 'uploads';
  readonly after?: string | undefined;
}

export interface CollectBudget {
  /** Absent: the round begins. */
  readonly position?: CollectPosition | undefined;
  /** Files or uploads that are looked at. */
  readonly itemsMax: number;
  /** Called when the engine fails at a file or an upload, or at listing them; the round goes on. Absent: the round ends. */
  readonly onFailed?: OnFailed;
}

export interface CollectReport {
  /** Null: the round is over. */
  readonly next: CollectPosition | null;
  readonly filesRemoved: number;
  readonly bytesRemoved: number;
  readonly uploadsDropped: number;
}

export interface FileCollectorPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sources: Sources;
  readonly rules: { readonly graceMs: number; readonly uploadExpiresMs: number };
  /** Notes that the engine has bytes that were taken for missing. */
  readonly found: (sha256: string, size: number) => Promise<void>;
}

type Portion = Partial<Omit<CollectReport, 'next'>> & { readonly after: string | null };

const NEXT_STAGE: Readonly<Record<CollectPosition['stage'], CollectPosition | null>> = {
  unfinished: { stage: 'files' },
  files: { stage: 'bytes' },
  bytes: { stage: 'uploads' },
  uploads: null,
};
const NOTHING = { filesRemoved: 0, bytesRemoved: 0, uploadsDropped: 0 };

/**
 * Deletes files that nothing refers to. A claim without a reference is first marked as idle, which makes every commit fail
 * that was guarded by the claim as it was before. When it is still idle and without a reference after the grace period, it
 * goes, and a file without claims goes after the same time without anybody sending it. The entry of the file decides
 * about the bytes: it is changed to `isRemoved`, if nobody has changed it since it was read, while the bytes are out of the
 * way. Every step may be repeated, and a crash between two of them is finished by the next round.
 */
export class FileCollector {
  readonly #ports: FileCollectorPorts;
  readonly #store: Store;
  readonly #claims: ClaimCollector;

  constructor(ports: FileCollectorPorts) {
    this.#ports = ports;
    this.#store = ports.store;
    this.#claims = new ClaimCollector(ports);
  }

  /** Looks at a bounded number of files. */
  async collect(
    engine: FileBytes,
    { position = { stage: 'unfinished' }, itemsMax, onFailed }: CollectBudget,
  ): Promise<CollectReport> {
    const { stage, after } = position;
    const bytes = new CollectedBytes(engine, onFailed);
    const portion = await this.#portion(stage, bytes, { after, limit: itemsMax });
    const { after: reached, ...counts } = portion;
    const next = reached === null ? NEXT_STAGE[stage] : { stage, after: reached };
    return { ...NOTHING, ...counts, next } satisfies CollectReport;
  }

  #portion(
    stage: CollectPosition['stage'],
    bytes: CollectedBytes,
    page: { readonly after: string | undefined; readonly limit: number },
  ): Promise<Portion> {
    switch (stage) {
      case 'unfinished':
        return this.#finishRemovals(bytes);
      case 'files':
        return this.#collectFiles(bytes, page);
      case 'bytes':
        return this.#collectUnknown(bytes, page);
      case 'uploads':
        return this.#dropUploads(bytes, page);
    }
  }

  async #finishRemovals(bytes: CollectedBytes): Promise<Portion> {
    for (const sha256 of await bytes.unfinishedRemovals()) {
      await bytes.remove(sha256, async () => isStored((await readFile(this.#store, sha256)).value));
    }
    return { after: null };
  }

  async #collectFiles(bytes: CollectedBytes, { after, limit }: Page): Promise<Portion> {
    const from = after === undefined ? {} : { after: [after] };
    const entries = await this.#store.listEntries({ kind: 'file', prefix: [], limit, ...from });
    let [filesRemoved, bytesRemoved] = [0, 0];
    for (const { key } of entries) {
      const removed = await this.#collectFile(bytes, key[0] ?? '');
      if (removed === null) continue;
      filesRemoved++;
      bytesRemoved += removed;
    }
    const last = entries.at(-1)?.key[0] ?? null;
    return { after: entries.length < limit ? null : last, filesRemoved, bytesRemoved };
  }

  /** Returns the bytes that were removed; null: the file stays, or has no bytes. */
  async #collectFile(bytes: CollectedBytes, sha256: string): Promise<number | null> {
    let isLive = false;
    for await (const entry of allEntries(this.#store, 'file_claim', [sha256])) {
      if (await this.#claims.keepsFile(sha256, claimOf(entry))) isLive = true;
    }
    await this.#clearSenders(sha256);
    return isLive ? this.#keepFile(sha256) : this.#collectIdle(bytes, sha256);
  }

  /** A reference that was committed while the collector took the file for unreferenced makes it missing again. */
  async #keepFile(sha256: string): Promise<null> {
    const file = await readFile(this.#store, sha256);
    const { value } = file;
    if (value === null || value.isRemoved === true || isStored(value) || value.missingSinceMs !== null) return null;
    await this.#write(
      await fileWrites(this.#store, sha256, file, { ...value, missingSinceMs: this.#ports.clock.nowMs() }),
    );
    return null;
  }

  /** A file that nothing refers to is missing no longer, and goes when it has no claims and nobody has sent it of late. */
  async #collectIdle(bytes: CollectedBytes, sha256: string): Promise<number | null> {
    const file = await readFile(this.#store, sha256);
    const { value } = file;
    if (value === null) return null;
    if (value.isRemoved === true) {
      await this.#clearSenders(sha256);
      await this.#claims.clearDoubts(sha256);
      await this.#write(await fileRemovals(this.#store, sha256, file));
      return null;
    }
    const isClaimed = await this.#claims.isClaimed(sha256);
    if (isClaimed || this.#ports.clock.nowMs() < value.touchedMs + this.#ports.rules.graceMs) {
      if (value.missingSinceMs !== null)
        await this.#write(await fileWrites(this.#store, sha256, file, { ...value, missingSinceMs: null }));
      return null;
    }
    return this.#remove(bytes, sha256, file.version);
  }

  async #remove(bytes: CollectedBytes, sha256: string, version: number): Promise<number | null> {
    let removed: FileRecord | null = null;
    let isAsked = false;
    const isWanted = async () => {
      isAsked = true;
      removed = await this.#markRemoved(sha256, version);
      return removed === null;
    };
    if (!(await bytes.remove(sha256, isWanted))) return null;
    // Without bytes there was nothing to ask about.
    if (!isAsked) await isWanted();
    const record = removed as FileRecord | null;
    if (record === null) return null;
    await this.#clearSenders(sha256);
    await this.#claims.clearDoubts(sha256);
    const file = await readFile(this.#store, sha256);
    if (file.value?.isRemoved === true) await this.#write(await fileRemovals(this.#store, sha256, file));
    return isStored(record) ? record.size : null;
  }

  /** Null: somebody has sent or claimed the file since it was read. */
  async #markRemoved(sha256: string, version: number): Promise<FileRecord | null> {
    const file = await readFile(this.#store, sha256);
    if (file.value === null || file.version !== version || (await this.#claims.isClaimed(sha256))) return null;
    const { value } = file;
    const writes = await fileWrites(this.#store, sha256, file, {
      ...value,
      storedAtMs: null,
      missingSinceMs: null,
      isRemoved: true,
    });
    if (isStored(value)) {
      const one = { generation: null, files: -1, bytes: -value.size };
      writes.push(usageWrite(null, await readUsage(this.#store, null), one));
    }
    return (await this.#write(writes)) ? value : null;
  }

  /** Forgets who has sent a file that was removed since, and users who were deleted; gives them back their quota. */
  async #clearSenders(sha256: string): Promise<void> {
    for await (const entry of allEntries(this.#store, 'file_sender', [sha256])) {
      const sender = senderOf(entry);
      const { value } = await readFile(this.#store, sha256);
      const isOfLife = value !== null && value.isRemoved !== true && value.life === sender.life;
      if (isOfLife && (await this.#isCurrent(sender))) continue;
      await this.#forget(sender);
    }
  }

  async #forget({ key, version, login, generation, size }: ReadSender): Promise<void> {
    const writes: EntryWrite[] = [{ kind: 'file_sender', key, value: null, expect: version }];
    const usage = login === null ? null : await readUsage(this.#store, login);
    if (login !== null && usage?.value?.generation === generation) {
      writes.push(forgottenWrite(login, usage, { sha256: key[0] ?? '', generation, size }));
    }
    await this.#write(writes);
  }

  async #isCurrent({ login, generation }: ReadSender): Promise<boolean> {
    return login === null || (await readGeneration(this.#store, login)) === generation;
  }

  /** Removes bytes of which nothing is known, and notes that those of a missing file are here. */
  async #collectUnknown(bytes: CollectedBytes, { after, limit }: Page): Promise<Portion> {
    const kept = await bytes.list({ after, limit });
    // After a restore, and in a place that is new to the store, what is unknown may soon be wanted again.
    const sinceMs = (await readFilePlace(this.#store))?.sinceMs ?? 0;
    let [filesRemoved, bytesRemoved] = [0, 0];
    for (const { sha256, size, storedMs } of kept) {
      const { value } = await readFile(this.#store, sha256);
      if (value !== null && value.isRemoved !== true) {
        if (!isStored(value)) await this.#ports.found(sha256, size);
        continue;
      }
      if (this.#ports.clock.nowMs() < Math.max(storedMs, sinceMs) + this.#ports.rules.graceMs) continue;
      const isRemoved = await bytes.remove(sha256, async () => {
        const now = (await readFile(this.#store, sha256)).value;
        return now !== null && now.isRemoved !== true;
      });
      if (!isRemoved) continue;
      filesRemoved++;
      bytesRemoved += size;
    }
    return { after: kept.length < limit ? null : (kept.at(-1)?.sha256 ?? null), filesRemoved, bytesRemoved };
  }

  async #dropUploads(bytes: CollectedBytes, { after, limit }: Page): Promise<Portion> {
    const uploads = await bytes.listUploads({ after, limit });
    const nowMs = this.#ports.clock.nowMs();
    const expired = uploads.filter(({ changedMs }) => changedMs + this.#ports.rules.uploadExpiresMs <= nowMs);
    let uploadsDropped = 0;
    for (const { id } of expired) if (await bytes.dropUpload(id)) uploadsDropped++;
    return { after: uploads.length < limit ? null : (uploads.at(-1)?.id ?? null), uploadsDropped };
  }

  /** False: something is not as it was read; the next round looks again. */
  async #write(writes: readonly EntryWrite[]): Promise<boolean> {
    return (await this.#store.writeEntries({ writes, guards: [] })).status === 'written';
  }
}

interface Page {
  readonly after: string | undefined;
  readonly limit: number;
}
