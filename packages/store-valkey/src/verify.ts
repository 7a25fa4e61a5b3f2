import { type Finding, type PartitionKey, type RecordReader, scopeOf } from '@tidemark/core/ports';
import { addChecksums } from '@tidemark/protocol';
import { HASH_UNITS } from './layout.ts';
import type { OpenCalls } from './lifecycle.ts';
import { orphanKeys } from './orphan-keys.ts';
import { listPartitions } from './partitions.ts';
import { checksumAt, RECORD_HEADER_BYTES } from './records.ts';
import type { EngineContext, ScopeAccess } from './scope-access.ts';
import { fileObjectsScript, objectFilesScript } from './scripts/files.ts';
import { countsScript, journalScript } from './scripts/journal.ts';
import { bytesOf, numberOf, numbersOf, type Reply, textListOf, textOf, textsIn } from './wire.ts';

const PARTITIONS_PER_READ = 1_000;
const SLICE_ENTRIES = 1_000;
const SLICE_UNITS = 1_000_000;
/** A partition that is reset or trimmed this often while it is read is skipped. */
const ATTEMPTS_MAX = 20;

function sortedHashes(hashes: string): string {
  return (hashes.match(/.{64}/g) ?? []).sort().join('');
}

type PartitionFinding = Omit<Finding, 'partition'>;

interface CheckedObject {
  readonly seq: number;
  readonly checksum: number;
  readonly files: readonly string[];
  readonly findings: readonly PartitionFinding[];
}

/** Verifies all partitions, then looks for keys that belong to nothing. */
export async function* verifyStore(
  context: EngineContext,
  calls: OpenCalls,
  reader: RecordReader,
): AsyncIterable<Finding> {
  let after: PartitionKey | undefined;
  do {
    const limit = PARTITIONS_PER_READ;
    const list = after === undefined ? { limit } : { after, limit };
    const keys = await calls.run(() => listPartitions(context, list));
    for (const key of keys) {
      calls.requireOpen();
      yield* verifyPartition(context.scopes, key, reader);
    }
    after = keys.length < limit ? undefined : keys.at(-1);
  } while (after !== undefined);
  calls.requireOpen();
  yield* orphanKeys(context);
}

async function* verifyPartition(
  scopes: ScopeAccess,
  partition: PartitionKey,
  reader: RecordReader,
): AsyncIterable<Finding> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const findings = await new PartitionCheck(scopes, partition, reader).run();
    if (findings === null) continue;
    for (const finding of findings) yield { partition, ...finding };
    return;
  }
}

/**
 * Follows the journal of a partition as a device does, so writes may go on meanwhile. What it holds once it has caught up
 * is the state at one moment, and is compared with the totals stored at that moment.
 */
class PartitionCheck {
  readonly #scopes: ScopeAccess;
  readonly #partition: PartitionKey;
  readonly #reader: RecordReader;
  readonly #objects = new Map<string, CheckedObject>();
  #after = 0;
  #epoch: string | null = null;

  constructor(scopes: ScopeAccess, partition: PartitionKey, reader: RecordReader) {
    this.#scopes = scopes;
    this.#partition = partition;
    this.#reader = reader;
  }

  /** Returns null when the partition was reset, or trimmed beyond what was read. */
  async run(): Promise<readonly PartitionFinding[] | null> {
    for (;;) {
      const reply = await this.#readSlice();
      const [epoch, , , head = '0', floor, size, checksum] = textOf(reply[1]).split(' ');
      if (this.#hasGap(epoch ?? '', Number(floor))) return null;
      this.#apply(reply);
      this.#after = numberOf(reply[2]);
      if (this.#after !== Number(head)) continue;
      return [
        ...[...this.#objects.values()].flatMap(({ findings }) => findings),
        ...this.#compareTotals(Number(size), Number(checksum)),
        ...(await this.#compareCounts()),
        ...(await this.#compareFiles()),
      ];
    }
  }

  #readSlice(): Promise<readonly Reply[]> {
    const values = {
      ...{ after: this.#after, tombstonesAfter: this.#after, entriesMax: SLICE_ENTRIES, unitsMax: SLICE_UNITS },
      ...{ takenEntries: 0, takenUnits: 0, wantsIds: true },
    };
    return this.#scopes.read({ scope: scopeOf(this.#partition), script: journalScript, values });
  }

  #hasGap(epoch: string, floor: number): boolean {
    const hasGap = this.#epoch !== null && (this.#epoch !== epoch || floor > this.#after);
    this.#epoch = epoch;
    return hasGap;
  }

  #apply(reply: readonly Reply[]): void {
    const [, , , seqList, lengthList, records, tombstoneLengths, tombstones, idLengths, idList] = reply;
    const bytes = bytesOf(records);
    const lengths = numbersOf(lengthList);
    const texts = textsIn(bytes, lengths, RECORD_HEADER_BYTES);
    const ids = textsIn(bytesOf(idList), numbersOf(idLengths));
    const seqs = numbersOf(seqList);
    let at = 0;
    for (const [index, length] of lengths.entries()) {
      const id = ids[index] ?? '';
      this.#objects.set(id, this.#check(id, seqs[index] ?? 0, texts[index] ?? '', checksumAt(bytes, at)));
      at += length;
    }
    for (const id of textsIn(bytesOf(tombstones), numbersOf(tombstoneLengths))) this.#objects.delete(id);
  }

  #check(id: string, seq: number, record: string, storedChecksum: number): CheckedObject {
    const read = this.#read(record);
    if (read === null) {
      return { seq, checksum: 0, files: [], findings: [{ problem: 'unreadable', detail: `the record at ${seq}` }] };
    }
    const findings: PartitionFinding[] = [];
    const detail = `object ${JSON.stringify(id)} at ${seq}`;
    if (read.id !== id) findings.push({ problem: 'missing_from_index', detail });
    if (read.checksum !== storedChecksum) findings.push({ problem: 'wrong_object_checksum', detail });
    return { seq, checksum: read.checksum, files: read.files ?? [], findings };
  }

  #compareTotals(size: number, checksum: number): PartitionFinding[] {
    let sum = 0;
    for (const object of this.#objects.values()) sum = addChecksums(sum, object.checksum);
    const findings: PartitionFinding[] = [];
    if (this.#objects.size !== size) {
      findings.push({ problem: 'wrong_size', detail: `${size} objects noted, ${this.#objects.size} found` });
    }
    if (sum !== checksum) {
      findings.push({ problem: 'wrong_checksum', detail: `${checksum} noted, ${sum} computed` });
    }
    return findings;
  }

  /** Compares counts that a reader of the journal does not see, all of one moment. */
  async #compareCounts(): Promise<PartitionFinding[]> {
    const reply = await this.#scopes.read({ scope: scopeOf(this.#partition), script: countsScript, values: {} });
    const [size = 0, records = 0, live = 0, above = 0, below = 0] = numbersOf(reply[1]);
    const findings: PartitionFinding[] = [];
    if (records !== size || live !== size) {
      const detail = `${size} objects noted, ${live} in the journal, ${records} records`;
      findings.push({ problem: live > records ? 'missing_from_journal' : 'missing_from_index', detail });
    }
    if (above > 0) findings.push({ problem: 'seq_beyond_head', detail: `${above} entries` });
    if (below > 0) findings.push({ problem: 'tombstone_below_floor', detail: `${below} tombstones` });
    return findings;
  }

  /**
   * Compares the index of files with the records that refer to some, and looks for index entries of other objects. An object
   * that has been written since it was read is skipped.
   */
  async #compareFiles(): Promise<PartitionFinding[]> {
    const findings: PartitionFinding[] = [];
    const named = [...this.#objects].filter(([, { files }]) => files.length > 0).map(([id]) => id);
    const indexed = new Set(named);
    for await (const id of this.#indexedIds()) indexed.add(id);
    const ids = [...indexed];
    for (let start = 0; start < ids.length; start += SLICE_ENTRIES) {
      const chunk = ids.slice(start, start + SLICE_ENTRIES);
      const read = await this.#scopes.read({
        ...{ scope: scopeOf(this.#partition), script: objectFilesScript, values: { ids: chunk } },
      });
      const rows = textListOf(read[1]);
      for (const [index, id] of chunk.entries()) {
        const [seq = '', hashes = ''] = rows.slice(2 * index, 2 * index + 2);
        const object = this.#objects.get(id);
        if (seq !== '' && Number(seq) !== object?.seq) continue;
        const found = seq === '' ? '' : [...(object?.files ?? [])].sort().join('');
        if (sortedHashes(hashes) === found) continue;
        const detail = `object ${JSON.stringify(id)}: the index has other files than its record`;
        findings.push({ problem: 'wrong_files', detail });
      }
    }
    return findings;
  }

  /** The ids in the index by file. One that only the index by object has is found where its hashes are looked up. */
  async *#indexedIds(): AsyncIterable<string> {
    for (let after = ''; ; ) {
      const read = await this.#scopes.read({
        ...{ scope: scopeOf(this.#partition), script: fileObjectsScript },
        values: { sha256: '', after, limit: SLICE_ENTRIES },
      });
      const members = textListOf(read[1]);
      yield* members.map((member) => member.slice(HASH_UNITS));
      after = members.at(-1) ?? '';
      if (members.length < SLICE_ENTRIES) return;
    }
  }

  #read(record: string): ReturnType<RecordReader> | null {
    try {
      return this.#reader(record);
    } catch {
      return null;
    }
  }
}
