import type { SyncSource } from '@tidemark/protocol';
import { SOURCES_FRESH_MS } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { applySources } from '../pull/apply-sources.ts';
import type { Replica } from '../replica/replica.ts';
import { readSources } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { selectedSources } from './selected-sources.ts';
import { transactIn, type WorkScope } from './work-scope.ts';

interface SourceListParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly caller: SessionCaller;
  /** The sources that the app wants; null: all of the user. */
  readonly sources: readonly string[] | null;
}

/** The list of the user's sources, which is read from the server now and then. */
export class SourceList {
  readonly #parts: SourceListParts;
  #readAtMs: number | null = null;
  #isStale = false;
  /** The versions for which the list was read again. A server that goes on telling others is not asked for ever. */
  readonly #readFor = new Map<string, number>();

  constructor(parts: SourceListParts) {
    this.#parts = parts;
  }

  /** True if the list was read since the start of the device or session. */
  get isKnown(): boolean {
    return this.#readAtMs !== null;
  }

  /** True if the next refresh reads the list. */
  get isStale(): boolean {
    return this.#isStale;
  }

  has(source: string): boolean {
    return this.#parts.replica.reader.get('sources', ['', source]) !== undefined;
  }

  /** True if the app wants this source, whether there is one or not. */
  isSelected(source: string): boolean {
    return this.#parts.sources === null || this.#parts.sources.includes(source);
  }

  selected(): readonly string[] {
    return selectedSources(this.#parts.replica.reader, this.#parts.sources);
  }

  /** Reads the list if it is not known or may be outdated. Returns true if it was read. */
  async refresh(scope: WorkScope): Promise<boolean> {
    const { platform, replica, caller } = this.#parts;
    const nowMs = platform.nowMs();
    const isFresh = this.#readAtMs !== null && nowMs < this.#readAtMs + SOURCES_FRESH_MS;
    if (isFresh && !this.#isStale) return false;
    const { signal } = scope;
    // What makes the list stale from now on may not be in the answer.
    this.#isStale = false;
    try {
      const { sources } = await caller.ask({ method: 'GET', path: '/sources', read: readSources, signal });
      await transactIn(replica, scope, (tx) => applySources(tx, sources.map(completeDescription)));
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
    this.#readAtMs = nowMs;
    return true;
  }

  /**
   * True if an answer has objects of a version of a schema that the list does not tell, and the app knows versions. Then the next
   * refresh reads the list.
   */
  lacks(versions: Readonly<Record<string, number>> = {}): boolean {
    const { reader } = this.#parts.replica;
    if (reader.versions === null) return false;
    const unknown = Object.entries(versions).filter(([source, version]) => {
      const listed = reader.get('sources', ['', source])?.description.schema?.version;
      return listed !== version && this.#readFor.get(source) !== version;
    });
    for (const [source, version] of unknown) this.#readFor.set(source, version);
    if (unknown.length > 0) this.markStale();
    return unknown.length > 0;
  }

  /** Makes the next refresh read the list. */
  markStale(): void {
    this.#isStale = true;
  }

  forget(): void {
    this.#readAtMs = null;
  }
}

/** Servers of other versions may omit members. */
function completeDescription(given: SyncSource): SyncSource {
  const { name, partition_type = 'user', sync_type = 'incremental', conflicts = 'last_writer' } = given;
  const { read_only = false, references = {}, searchable = false, schema } = given;
  const description = { name, partition_type, sync_type, conflicts, read_only, references, searchable };
  return schema === undefined ? description : { ...description, schema };
}
