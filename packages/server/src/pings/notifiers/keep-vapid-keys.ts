import { refs, type Store } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { newVapidKeys, type VapidKeys } from './vapid.ts';

/**
 * The keys of this installation. The first start makes them; they are kept in the store, where every server finds the
 * same ones. Subscriptions are made for them, so losing them would lose every browser.
 */
export async function keepVapidKeys(store: Store): Promise<VapidKeys> {
  const ref = refs.setting('vapid');
  const kept = await store.readEntry(ref);
  if (kept !== null) return parseJson(kept.value) as VapidKeys;
  const keys = newVapidKeys();
  const { status } = await store.writeEntries({
    writes: [{ ...ref, value: JSON.stringify(keys), expect: 0 }],
    guards: [],
  });
  // Another server has started at the same moment and was faster.
  return status === 'written' ? keys : keepVapidKeys(store);
}
