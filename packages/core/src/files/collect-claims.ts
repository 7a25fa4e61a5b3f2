import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { EntryWrite, Store } from '../ports/store.ts';
import type { Sources } from '../sources/sources.ts';
import {
  claimOf,
  claimText,
  claimWrite,
  NOBODY,
  type ReadClaim,
  readClaims,
  readFile,
  readGeneration,
  waitingRemovals,
} from './file-entries.ts';

interface ClaimCollectorPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sources: Sources;
  readonly rules: { readonly graceMs: number };
}

/** Follows claims from the moment at which nothing refers to their file any more until they go. */
export class ClaimCollector {
  readonly #ports: ClaimCollectorPorts;
  readonly #store: Store;

  constructor(ports: ClaimCollectorPorts) {
    this.#ports = ports;
    this.#store = ports.store;
  }

  /** Returns whether an object refers to the file where it was claimed. */
  async keepsFile(sha256: string, claim: ReadClaim): Promise<boolean> {
    const nowMs = this.#ports.clock.nowMs();
    if (await this.#isReferenced(sha256, claim)) {
      await this.#keepClaim(sha256, claim);
      return true;
    }
    const isGone = await this.#isGone(claim);
    const { idleSinceMs } = claim;
    if (!isGone && idleSinceMs !== null && nowMs < idleSinceMs + this.#ports.rules.graceMs) return false;
    if (idleSinceMs === null) {
      await this.#write([claimWrite(claim, { idleSinceMs: nowMs })]);
      if (!isGone) return false;
    }
    if (!isGone && (await this.#isDoubt(claim))) return this.#keepDoubt(sha256, claim);
    return this.#dropClaim(sha256, claim);
  }

  /**
   * Whether a claim says that a user who may not have had the file has referred to it, and nothing does now. It goes with the
   * file: a backend that publishes later what the user has written would vouch for it otherwise. It keeps no file.
   */
  async #isDoubt({ isProven, login, generation, idleSinceMs }: ReadClaim): Promise<boolean> {
    if (isProven || login === null || idleSinceMs === null) return false;
    if (this.#ports.clock.nowMs() < idleSinceMs + this.#ports.rules.graceMs) return false;
    return generation === (await readGeneration(this.#store, login));
  }

  /** The device is not asked for a file that none of its objects refers to. */
  async #keepDoubt(sha256: string, claim: ReadClaim): Promise<false> {
    if (claim.client === null) return false;
    const unlisted = (await this.#unlisted(sha256, claim)).filter(({ key: [whose] }) => whose === 'client');
    await this.#write([claimWrite(claim, { client: null }), ...unlisted]);
    return false;
  }

  /** Whether anything but doubts is claimed: it keeps the file. */
  async isClaimed(sha256: string): Promise<boolean> {
    for await (const entry of allEntries(this.#store, 'file_claim', [sha256])) {
      if (!(await this.#isDoubt(claimOf(entry)))) return true;
    }
    return false;
  }

  /** Removes the doubts about a file that was removed. A claim that was made since is another one. */
  async clearDoubts(sha256: string): Promise<void> {
    for await (const { key, version } of allEntries(this.#store, 'file_claim', [sha256])) {
      const { value } = await readFile(this.#store, sha256);
      if (value?.isRemoved !== true) return;
      await this.#write([{ kind: 'file_claim', key, value: null, expect: version }]);
    }
  }

  /** Looks for a reference once more: since the claim is idle, a commit that makes one has changed it before. */
  async #dropClaim(sha256: string, { key }: ReadClaim): Promise<boolean> {
    const entry = await this.#store.readEntry({ kind: 'file_claim', key });
    if (entry === null) return false;
    const claim = claimOf(entry);
    if (claim.idleSinceMs === null || (await this.#isReferenced(sha256, claim))) return true;
    const removal: EntryWrite = { kind: 'file_claim', key, value: null, expect: claim.version };
    return !(await this.#write([removal, ...(await this.#unlisted(sha256, claim))]));
  }

  /** Takes a file that is missing from the lists of a claim that goes. */
  async #unlisted(sha256: string, going: ReadClaim): Promise<readonly EntryWrite[]> {
    const { value } = await readFile(this.#store, sha256);
    const since = value?.missingSinceMs ?? null;
    if (since === null) return [];
    const claims = await readClaims(this.#store, sha256);
    const staying = claims.filter(({ key }) => String(key) !== String(going.key));
    return waitingRemovals(sha256, since, { going, staying });
  }

  /** A claim of a user who was deleted becomes one of the backend, so that nothing of the user stays. */
  async #keepClaim(sha256: string, claim: ReadClaim): Promise<void> {
    const { login, partition, generation, key, version } = claim;
    const isOfNobody = login !== null && (await readGeneration(this.#store, login)) !== generation;
    if (!isOfNobody || partition.owner.kind === 'user') {
      if (claim.idleSinceMs !== null) await this.#write([claimWrite(claim, { idleSinceMs: null })]);
      return;
    }
    const ref = refs.fileClaim(sha256, partition, null);
    const entry = await this.#store.readEntry(ref);
    const old = entry === null ? null : claimOf(entry);
    const isProven = claim.isProven || old?.isProven === true;
    const own = isProven ? null : NOBODY;
    const heir = {
      isProven,
      generation: old === null ? own : old.generation,
      client: null,
      atMs: claim.atMs,
      idleSinceMs: null,
    };
    const unlisted = (await this.#unlisted(sha256, claim)).filter(({ key: [whose] }) => whose === 'client');
    await this.#write([
      ...unlisted,
      { kind: 'file_claim', key, value: null, expect: version },
      { ...ref, value: claimText(heir), expect: old?.version ?? 0 },
    ]);
  }

  async #isReferenced(sha256: string, { partition }: ReadClaim): Promise<boolean> {
    return (await this.#store.objectsWithFile(partition, sha256, 1)).length > 0;
  }

  /** Whether nothing can be written to the partition of a claim any more. */
  async #isGone({ partition: { source, owner }, generation }: ReadClaim): Promise<boolean> {
    if (!(await this.#ports.sources.has(source))) return true;
    return owner.kind === 'user' && (await readGeneration(this.#store, owner.login)) !== generation;
  }

  /** False: something is not as it was read; the next round looks again. */
  async #write(writes: readonly EntryWrite[]): Promise<boolean> {
    return (await this.#store.writeEntries({ writes, guards: [] })).status === 'written';
  }
}
