import {
  type JsonValue,
  type Limits,
  type MoveReport,
  parseJson,
  type SchemaProposal,
  type WriteReport,
} from '@tidemark/protocol';
import { admitAnswer } from '../admission/admit-answer.ts';
import { admitManyObjects } from '../admission/admit-objects.ts';
import type {
  AnswerCall,
  FastDeleteCall,
  FastUpdateCall,
  MoveCall,
  ObjectsCall,
  PartitionWrite,
  PushCall,
  ReplaceCall,
  SeenState,
  WriteAdmission,
  WriteCall,
} from '../admission/admit-write.ts';
import type { Admitted } from '../admission/admitted.ts';
import type { FileClaims } from '../files/file-claims.ts';
import type { CommitCause, Committed } from '../journal/committed.ts';
import { rangeOfCommit } from '../journal/committed.ts';
import { RETENTION_MS_DEFAULT, trim } from '../journal/trim.ts';
import type { ObjectsAnswer } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import { groupOf } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import type { PartitionState, Store } from '../ports/store.ts';
import { inferFromSamples, inferFromStored } from './infer-schema.ts';
import { moveObjects } from './move-objects.ts';
import { type ObjectPageCall, objectPage } from './object-page.ts';
import type { ChangeObserver } from './observed-changes.ts';
import { readObjects } from './read-objects.ts';
import { Writer } from './writer.ts';

export interface ObjectsParts {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock, for durations. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly limits: Limits;
  readonly pace: Pace;
  readonly admission: WriteAdmission;
  readonly files: FileClaims;
  /** Whether callers name the partitions of the source by groups. */
  readonly hasGroups: (source: string) => Promise<boolean>;
  /** Returns the name of a source, or refuses if there is none of this name. */
  readonly nameOf: (source: unknown) => Promise<string>;
  /** Called with the time that a write took to be durable. */
  readonly onWritten?: (tookMs: number) => void;
  readonly onCommitted: (committed: Committed) => void;
}

/** The objects of sources, as backends and administrators write and read them. */
export class Objects {
  readonly #parts: ObjectsParts;
  readonly #admission: WriteAdmission;
  readonly #writer: Writer;

  constructor(parts: ObjectsParts) {
    this.#parts = parts;
    this.#admission = parts.admission;
    this.#writer = new Writer(parts);
  }

  push(call: PushCall, observer?: ChangeObserver, cause: CommitCause = 'push'): Promise<WriteReport> {
    return this.#write(this.#admission.pushObjects(call), cause, observer);
  }

  pushDeletes(call: ObjectsCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.pushDeletes(call), 'push', observer);
  }

  fastInsert(call: ObjectsCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastInsert(call), 'push', observer);
  }

  fastUpdate(call: FastUpdateCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastUpdate(call), 'push', observer);
  }

  fastDelete(call: FastDeleteCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastDelete(call), 'push', observer);
  }

  /**
   * Moves objects from one group of a source to another. A device in both groups has the object all the time, if it
   * applies answers as the protocol says: the object is added before it is removed.
   */
  async move(call: MoveCall): Promise<MoveReport> {
    const { store, clock, limits, files, onCommitted } = this.#parts;
    const write = await this.#admission.move(call);
    const { moved, missing, from, to } = await moveObjects(
      {
        ...{ store, clock, files, quota: limits },
        onCommitted: (partition, range) => onCommitted({ partition, cause: 'push', range }),
      },
      write,
    );
    const whose = { source: write.to.source, from: groupOf(write.from) ?? '', to: groupOf(write.to) ?? '' };
    return { ...whose, moved, missing, from_seq: from.head, to_seq: to.head };
  }

  /** Makes the document equal to the objects. With `since`, later commits are not undone. */
  replace(call: ReplaceCall, cause: CommitCause = 'refresh'): Promise<WriteReport> {
    return this.#write(this.#admission.replace(call), cause);
  }

  /** The same with the answer of a backend, which may still be arriving. */
  replaceWithAnswer(call: AnswerCall): Promise<WriteReport> {
    return this.#write(this.#admission.answer(call), 'refresh');
  }

  /** Checks the answer to a query as a refresh would, and stores nothing. Returns the number of objects. */
  async checkAnswer(answer: ObjectsAnswer): Promise<number> {
    const objects = await admitAnswer(answer, this.#parts.limits, this.#parts.pace);
    for (const object of objects) objects.attributesOf(object);
    return objects.size;
  }

  /** Proposes a schema that fits the given objects; without them, the stored objects of the source. Sets nothing. */
  async inferSchema(name: unknown, samples?: unknown): Promise<SchemaProposal> {
    const { store, pace, limits, nameOf } = this.#parts;
    const source = await nameOf(name);
    if (samples === undefined) return inferFromStored({ store, pace }, source);
    await admitManyObjects(samples, limits, 'samples', pace);
    return inferFromSamples(
      source,
      Object.values(samples as Readonly<Record<string, Record<string, JsonValue>>>),
      pace,
    );
  }

  /** Returns the current state, to be passed as `since` to `replace` when a query that starts now is answered. */
  async head(call: WriteCall): Promise<SeenState> {
    const { partition, generation } = await this.#admission.partition(call);
    const { epoch, head } = await this.#parts.store.partition(partition);
    return { epoch, head, generation };
  }

  async partition(call: WriteCall): Promise<PartitionState> {
    const { partition } = await this.#admission.partition(call);
    return this.#parts.store.partition(partition);
  }

  async read(call: WriteCall): Promise<ReadonlyMap<string, Readonly<Record<string, JsonValue>>>> {
    const objects = await this.readTexts(call);
    return new Map([...objects].map(([id, text]) => [id, parseJson(text) as Record<string, JsonValue>]));
  }

  /** The objects as JSON texts. */
  async readTexts(call: WriteCall): Promise<ReadonlyMap<string, string>> {
    const { partition } = await this.#admission.partition(call);
    return (await readObjects(this.#parts.store, partition)).objects;
  }

  /**
   * Returns a page of the objects as JSON text, with the seqs at which they changed. `isOver` returns true when nobody waits
   * for it any more.
   */
  async list(call: WriteCall, page: ObjectPageCall, isOver = () => false): Promise<string> {
    const { partition } = await this.#admission.partition(call);
    return objectPage(this.#parts, partition, page, isOver);
  }

  /** Deletes the tombstones that no recently seen device still needs. */
  async trim(call: WriteCall & { readonly retentionMs?: number }): Promise<PartitionState> {
    const { partition } = await this.#admission.partition(call);
    const { retentionMs = RETENTION_MS_DEFAULT } = call;
    return trim(this.#parts.store, partition, { nowMs: this.#parts.clock.nowMs(), retentionMs });
  }

  async #write(
    admission: Promise<Admitted<PartitionWrite>>,
    cause: CommitCause,
    observer: ChangeObserver | null = null,
  ): Promise<WriteReport> {
    const { clock, steadyClock = clock, onWritten, onCommitted, hasGroups } = this.#parts;
    const write = await admission;
    const { partition, user } = write;
    const startedMs = steadyClock.nowMs();
    const { epoch, ...outcome } = await this.#writer.write(write, observer);
    onWritten?.(steadyClock.nowMs() - startedMs);
    write.check?.end();
    if (outcome.changed > 0) {
      onCommitted({ partition, cause, range: rangeOfCommit({ epoch, head: outcome.seq }, outcome.changed) });
    }
    const { source, owner } = partition;
    const isNamed = owner.kind === 'group' && (await hasGroups(source));
    return { source, user_id: user, ...(isNamed ? { group: owner.name } : {}), ...outcome };
  }
}
