import type { FileReference, FileValue } from '@tidemark/protocol';
import type { FileWorkParts, Prefetch } from '../engine/file-work.ts';
import { FILE_PREFETCH_AFTER_MS } from '../limits.ts';
import { fileRow } from '../state/file-rows.ts';
import type { Attributes } from '../state/rows.ts';

interface FilePrefetchParts {
  readonly parts: FileWorkParts;
  readonly mayFetch: () => boolean;
  readonly bytesFree: () => number;
  readonly fetch: (references: readonly FileReference[]) => void;
}

/** Finds the files that the rules of the app want on the device, a while after objects have changed. */
export class FilePrefetch {
  readonly #parts: FilePrefetchParts;
  readonly #rules: readonly (readonly [source: string, rule: Prefetch])[];
  readonly #unsubscribe: () => void;
  #cancel: (() => void) | null = null;
  /** True: it has looked since the device was connected. */
  #isCurrent = false;

  constructor(parts: FilePrefetchParts) {
    const { options, data } = parts.parts;
    this.#parts = parts;
    this.#rules = Object.entries(options.files.prefetch ?? {}).filter(([, rule]) => rule !== 'none');
    this.#unsubscribe = data.replica.commits.add((changes) => {
      if (changes.some(({ table }) => table === 'objects' || table === 'sources')) this.#lookSoon();
    });
  }

  follow(): void {
    if (!this.#parts.mayFetch()) this.#isCurrent = false;
    else if (!this.#isCurrent) this.#lookSoon();
  }

  stop(): void {
    this.#unsubscribe();
    this.#cancel?.();
  }

  #lookSoon(): void {
    if (this.#rules.length === 0 || this.#cancel !== null || !this.#parts.mayFetch()) return;
    this.#isCurrent = true;
    this.#cancel = this.#parts.parts.data.platform.after(FILE_PREFETCH_AFTER_MS, () => {
      this.#cancel = null;
      // A store that fails is reported by the next transaction.
      this.#look().catch(() => undefined);
    });
  }

  /** What does not fit into the cache is not fetched, since it would only displace others. */
  async #look(): Promise<void> {
    if (!this.#parts.mayFetch()) return;
    const { reader } = this.#parts.parts.data.replica;
    let bytesFree = this.#parts.bytesFree();
    const found = new Map<string, FileReference>();
    for await (const reference of this.#wanted()) {
      const row = fileRow(reader, reference.sha256);
      if (found.has(reference.sha256) || (row !== undefined && row.bytes === row.size)) continue;
      if (reference.size > bytesFree) continue;
      bytesFree -= reference.size;
      found.set(reference.sha256, reference);
    }
    if (found.size > 0 && this.#parts.mayFetch()) this.#parts.fetch([...found.values()]);
  }

  async *#wanted(): AsyncGenerator<FileReference> {
    for (const [source, rule] of this.#rules) {
      let chosen: readonly Dated[] = [];
      for await (const part of this.#parts.parts.data.replica.view(source).parts()) {
        if (typeof rule === 'string') yield* referencesInAll(part);
        else chosen = newest([...chosen, ...part], rule);
      }
      yield* referencesInAll(chosen);
    }
  }
}

function* referencesInAll(objects: readonly Dated[]): Generator<FileReference> {
  for (const { attributes } of objects) yield* referencesIn(Object.values(attributes));
}

/** The server has checked the form of references. */
function* referencesIn(value: unknown): Generator<FileReference> {
  if (typeof value !== 'object' || value === null) return;
  const { $file } = value as Partial<FileValue>;
  if (typeof $file?.sha256 === 'string') yield $file;
  else for (const member of Object.values(value)) yield* referencesIn(member);
}

type Dated = { readonly attributes: Attributes };

function newest(objects: readonly Dated[], { newest: count, by }: Exclude<Prefetch, string>): readonly Dated[] {
  const rank = ({ attributes }: Dated) => attributes[by] ?? '';
  return [...objects]
    .sort((left, right) => (rank(left) < rank(right) ? 1 : rank(left) > rank(right) ? -1 : 0))
    .slice(0, count);
}
