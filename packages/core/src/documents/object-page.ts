import { OBJECT_LIST_MAX, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { type FindPorts, findObjects, listedObject, seqIn } from './find-objects.ts';
import { parseFilter } from './object-filter.ts';
import { parseOrder } from './object-order.ts';

export interface ObjectPageCall {
  /** The `next` of the previous page. */
  readonly after?: string;
  /** The id of the object that the page begins with, instead of `after`. */
  readonly from?: unknown;
  readonly limit?: number;
  /** Conditions as JSON text. */
  readonly filter?: string;
  /** The path of the attribute that the list is sorted by, `@id` or `@seq`. */
  readonly sort?: string;
  /** `asc` or `desc`. */
  readonly order?: string;
}

const LIMIT_DEFAULT = 100;

/** Whether a page needs more than one slice of the journal. */
export function isFilteredList({ filter, sort, order }: ObjectPageCall): boolean {
  return [filter, sort, order].some((one) => one !== undefined);
}

/**
 * Returns a page of the objects of a partition as JSON text. Without a filter and an order, they come in the order of their last
 * change, and one that changes between two pages comes again on a later one.
 */
export async function objectPage(
  ports: FindPorts,
  partition: PartitionKey,
  call: ObjectPageCall,
  isOver: () => boolean,
): Promise<string> {
  const rowsMax = requireLimit(call.limit ?? LIMIT_DEFAULT);
  if (!isFilteredList(call)) return journalPage(ports, partition, { ...call, limit: rowsMax });
  if (call.from !== undefined) {
    const detail = 'cannot be combined with filter, sort and order';
    throw new Refusal('invalid_value', `from ${detail}`, [{ pointer: pointer('from'), detail }]);
  }
  const [filter, order] = [parseFilter(call.filter), parseOrder(call.sort, call.order)];
  return findObjects(ports, partition, { filter, order, after: call.after, rowsMax, isOver });
}

async function journalPage(
  { store, limits }: FindPorts,
  partition: PartitionKey,
  call: ObjectPageCall & { readonly limit: number },
): Promise<string> {
  const entriesMax = call.limit;
  const after = call.from === undefined ? seqIn(call.after ?? '0') : await seqBefore(store, partition, call.from);
  const { head } = await store.partition(partition);
  const range = { after, tombstonesAfter: Math.max(head, after), entriesMax, unitsMax: limits.pageUnitsMax };
  const { state, records, seqs, upTo } = await store.readJournal(partition, range);
  const objects = records.map((record, index) => listedObject(record, seqs[index] ?? 0));
  const next = upTo < state.head ? upTo : null;
  return `{"size":${state.size},"head":${state.head},"objects":[${objects.join(',')}],"next":${next}}`;
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
