import { type Limits, OBJECT_LIST_MAX, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { nameText, objectText } from '../journal/json-text.ts';
import { readRecord } from '../journal/record.ts';
import type { PartitionKey, Store } from '../ports/store.ts';

export interface ObjectPageCall {
  /** The `next` of the previous page. */
  readonly after?: number;
  /** The id of the object that the page begins with, instead of `after`. */
  readonly from?: unknown;
  readonly limit?: number;
}

const LIMIT_DEFAULT = 100;

/**
 * Returns a page of the objects of a partition as JSON text, in the order of their last change. An object that changes
 * between two pages comes again on a later one.
 */
export async function objectPage(
  ports: { readonly store: Store; readonly limits: Limits },
  partition: PartitionKey,
  call: ObjectPageCall,
): Promise<string> {
  const { store, limits } = ports;
  const entriesMax = requireLimit(call.limit ?? LIMIT_DEFAULT);
  const after = call.from === undefined ? (call.after ?? 0) : await seqBefore(store, partition, call.from);
  const { head } = await store.partition(partition);
  const range = { after, tombstonesAfter: Math.max(head, after), entriesMax, unitsMax: limits.pageUnitsMax };
  const { state, records, seqs, upTo } = await store.readJournal(partition, range);
  const objects = records.map((record, index) => entryText(record, seqs[index] ?? 0));
  const next = upTo < state.head ? upTo : null;
  return `{"size":${state.size},"head":${state.head},"objects":[${objects.join(',')}],"next":${next}}`;
}

function entryText(record: string, seq: number): string {
  const { id, attributes, marks } = readRecord(record, seq);
  const changed = [...marks.touched, ...marks.gone].map(([name, at]) => `${nameText(name)}:${at}`);
  const head = `"id":${JSON.stringify(id)},"seq":${seq},"created_seq":${marks.born}`;
  return `{${head},"changed":{${changed.join(',')}},"attributes":${objectText(attributes)}}`;
}

async function seqBefore(store: Store, partition: PartitionKey, from: unknown): Promise<number> {
  const id = admitName('object', from, pointer('from'));
  const stored = (await store.readObjects(partition, [id])).objects.get(id);
  if (stored !== undefined && stored.record !== null) return stored.seq - 1;
  throw new Refusal('object_not_found', `there is no object ${quoted(id)}`);
}

function requireLimit(limit: number): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= OBJECT_LIST_MAX) return limit;
  const detail = `must be a whole number from 1 to ${OBJECT_LIST_MAX}`;
  throw new Refusal('invalid_value', `limit ${detail}`, [{ pointer: pointer('limit'), detail }]);
}
