import type { PendingMutation, Transaction } from '@tanstack/db';
import { type Device, type Draft, Source } from '@tidemark/client';
import { confirmationsOf } from './confirmations.ts';

/** What is needed of a transaction; those of all collections have it. */
type AnyTransaction = Pick<Transaction, 'mutations'>;

/**
 * Stores the mutations of a transaction on the device, all or none, and puts them into the queue of uploads. Call it in
 * the `mutationFn` of a transaction of your own; mutations of other collections are left to you. Resolves when they are
 * stored, with or without a network.
 */
export async function storeTransaction(device: Device, transaction: AnyTransaction): Promise<void> {
  const mutations = transaction.mutations.filter(({ collection }) => collection.utils.device === device);
  const objects = mutations.map((mutation) => ({ source: sourceOf(mutation).name, id: String(mutation.key) }));
  const stored = device.write((draft) => {
    for (const mutation of mutations) apply(draft, mutation);
  });
  confirmationsOf(device).track(transaction, { objects, stored });
  await stored;
}

function apply(draft: Draft, mutation: PendingMutation): void {
  const { name } = sourceOf(mutation);
  const id = String(mutation.key);
  if (mutation.type === 'insert') draft.create(name, withoutId(mutation.modified), { id, ...groupOf(mutation) });
  else if (mutation.type === 'delete') draft.delete(name, id);
  else draft.update(name, id, changesOf(mutation));
}

function sourceOf({ collection }: PendingMutation): Source {
  const { source } = collection.utils;
  if (source instanceof Source) return source as Source;
  throw new Error(`collection ${JSON.stringify(collection.id)} was not made by tidemarkCollectionOptions`);
}

/** `insert(row, { metadata: { group } })` names the group of a new object. */
function groupOf({ metadata }: PendingMutation): { readonly group?: string } {
  const { group } = (metadata ?? {}) as { readonly group?: string };
  return group === undefined ? {} : { group };
}

/** Returns what an update has changed; the value of a removed attribute is undefined. */
function changesOf({ original, modified, changes }: PendingMutation): object {
  const removed = Object.keys(original).filter((name) => !Object.hasOwn(modified, name));
  return withoutId({ ...changes, ...Object.fromEntries(removed.map((name) => [name, undefined])) });
}

function withoutId(row: object): object {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== 'id'));
}
