import {
  type AttributeValues,
  COMMIT_ATTEMPTS_MAX,
  type Limits,
  namesOf,
  parseJson,
  Refusal,
  renewed,
  type Step,
} from '@tidemark/protocol';
import { admitAttributes } from '../admission/admit-objects.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { BACKEND, type FileClaims, joinGuards, withoutLostClaims } from '../files/file-claims.ts';
import type { AttributeTexts } from '../journal/attribute-texts.ts';
import { type CommitRange, rangeOfCommit } from '../journal/committed.ts';
import { changedAt, type ObjectChange, ObjectRecord } from '../journal/record.ts';
import type { Clock } from '../ports/clock.ts';
import type { Pace } from '../ports/pace.ts';
import type { Guard, PartitionKey, Store, StoredObject } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { changeOf, liveRecord } from './effect.ts';
import { replaced } from './verdicts.ts';

export interface ConvertPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly limits: Limits;
  readonly files: FileClaims;
  /** Called after a commit, when it is durable. */
  readonly onCommitted: (partition: PartitionKey, range: CommitRange) => void;
}

export interface Conversion {
  readonly partition: PartitionKey;
  readonly steps: readonly Step[];
  /** What must still be as it is: the source with its schema. */
  readonly guard: Guard;
}

/** Objects read and written at a time, so that the event loop can do other work in between, and a kill costs little. */
const OBJECTS_AT_A_TIME = 500;
const UNITS_AT_A_TIME = 1_000_000;
/** How often it finds something to convert at the end of the journal. The next round begins again. */
const ENDS_MAX = 1_000;

/**
 * Converts the objects of a partition to the present version of their schema, in the order of their last change. What is written
 * meanwhile comes at the end of that order, so it is seen as well. Returns how many objects were converted.
 */
export async function convertObjects(ports: ConvertPorts, conversion: Conversion): Promise<number> {
  let converted = 0;
  let after = 0;
  for (let ends = 0; ends < ENDS_MAX; ) {
    const slice = await ports.store.readJournal(conversion.partition, {
      after,
      tombstonesAfter: after,
      entriesMax: OBJECTS_AT_A_TIME,
      unitsMax: UNITS_AT_A_TIME,
    });
    const ids = await outdatedIn(slice.records, conversion.steps, ports);
    if (ids.length > 0) converted += await convertAll(ports, conversion, ids);
    if (slice.upTo >= slice.state.head) {
      if (ids.length === 0) return converted;
      ends++;
    }
    after = slice.upTo;
  }
  throw new Refusal('write_conflict', 'other writers kept writing objects of the version before');
}

/** The ids of the objects that are of an older version. */
async function outdatedIn(
  records: readonly string[],
  steps: readonly Step[],
  { pace, limits }: ConvertPorts,
): Promise<readonly string[]> {
  const budget = new WorkBudget();
  const ids: string[] = [];
  for (const record of records) {
    const object = new ObjectRecord(record, 0);
    if (renewedTexts(object, steps, limits) !== null) ids.push(object.id);
    if (budget.isSpent(record.length)) await pace.turn();
  }
  return ids;
}

function convertAll(
  ports: ConvertPorts,
  { partition, steps, guard }: Conversion,
  ids: readonly string[],
): Promise<number> {
  const { store, clock, files, limits, onCommitted } = ports;
  return retryOnConflict(
    async () => {
      const { objects, state } = await store.readObjects(partition, ids);
      const changes = ids.flatMap((id) => changeTo(id, objects.get(id), { steps, limits, floor: state.floor }) ?? []);
      if (changes.length === 0) return 0;
      const guards = joinGuards([guard], await files.claimAdded(partition, changes, BACKEND));
      const commit = { partition, changes, guards, seen: state, atMs: clock.nowMs() };
      const result = withoutLostClaims(await store.commit(commit));
      if (result.status === 'gone') throw refuseGone(result.guard);
      if (result.status !== 'committed') return null;
      onCommitted(partition, rangeOfCommit(result.state, changes.length));
      return changes.length;
    },
    { subject: 'the objects that are being converted', attemptsMax: COMMIT_ATTEMPTS_MAX },
  );
}

interface ConvertTerms {
  readonly steps: readonly Step[];
  readonly limits: Limits;
  readonly floor: number;
}

function changeTo(
  id: string,
  stored: StoredObject | undefined,
  { steps, limits, floor }: ConvertTerms,
): ObjectChange | null {
  const current = liveRecord(stored);
  const next = current === null ? null : renewedObject(current, steps, limits);
  if (current === null || next === null) return null;
  const { attributes, carried } = next;
  return changeOf(id, { stored, current, carried }, replaced(current.attributes, attributes), floor);
}

/** An object of the version before in the present one. */
export interface RenewedObject {
  readonly attributes: AttributeTexts;
  /** What was written, changed or taken away, with the seqs at which somebody had changed what it comes from: see `Marks`. */
  readonly carried: ReadonlyMap<string, number>;
}

/** Returns the object in the present version; null: it is of that version, or stays as it is. */
export function renewedObject(
  current: Pick<ObjectRecord, 'attributes' | 'marks'>,
  steps: readonly Step[],
  limits: Limits,
): RenewedObject | null {
  const attributes = renewedTexts(current, steps, limits);
  return attributes === null ? null : { attributes, carried: carriedSeqs(current, attributes, steps) };
}

/** A conversion is no change by anybody: an edit made before is in conflict only with what others had written. */
function carriedSeqs(
  { attributes, marks }: Pick<ObjectRecord, 'attributes' | 'marks'>,
  next: AttributeTexts,
  steps: readonly Step[],
): ReadonlyMap<string, number> {
  const seqs = new Map<string, number>();
  const seqOf = (name: string) => seqs.get(name) ?? changedAt(name, marks);
  for (const { old, now } of steps.map(namesOf)) {
    const seq = Math.max(marks.born, ...old.map(seqOf));
    for (const name of now) seqs.set(name, attributes.has(name) ? Math.max(seq, seqOf(name)) : seq);
  }
  for (const name of next.keys()) if (next.get(name) !== attributes.get(name)) seqs.set(name, seqOf(name));
  for (const name of attributes.keys()) if (!next.has(name)) seqs.set(name, changedAt(name, marks));
  return seqs;
}

/**
 * Returns the attributes in the present version; null: they are of it. An object that would lose all of them, or be larger than
 * allowed, stays as it is.
 */
function renewedTexts({ attributes }: Pick<ObjectRecord, 'attributes'>, steps: readonly Step[], limits: Limits) {
  const values = renewed(parseJson(attributes.text) as AttributeValues, steps);
  if (Object.keys(values).length === 0) return null;
  try {
    const texts = admitAttributes(values, limits, ['attributes']);
    return attributes.equals(texts) ? null : texts;
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
