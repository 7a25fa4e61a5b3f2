import { refs, type Store } from '@tidemark/core';
import { parseJson } from '@tidemark/protocol';
import { newVapidKeys, type VapidKeys } from './vapid.ts';

/**
 * Returns the keys of this installation. The first start creates them in the store, where all servers find them.
 * Browsers subscribe with them, so losing them would lose all browsers.
 */
export async function loadVapidKeys(store: Store): Promise<VapidKeys> {
  const ref = refs.setting('vapid');
  const kept = await store.readEntry(ref);
  if (kept !== null) return parseJson(kept.value) as VapidKeys;
  const keys = newVapidKeys();
  const { status } = await store.writeEntries({
    writes: [{ ...ref, value: JSON.stringify(keys), expect: 0 }],
    guards: [],
  });
  // Another server that started at the same time has written its keys first.
  return status === 'written' ? keys : loadVapidKeys(store);
}
