import { openDevice } from '@tidemark/client';
import { openKeyValueStore } from '@tidemark/client/key-value-store';
import { phonePlatform, secureKey, secureSession } from '@tidemark/react-native';

/** Signs in, gets everything, edits, is started again without a network, and syncs. Returns what its user has seen. */
globalThis.runApp = async ({ url, storage, items, randomBytes, nowMs, after }) => {
  const open = async () => {
    const store = secureSession(await openKeyValueStore(storage), items, { randomBytes });
    const platform = { ...phonePlatform({ randomBytes }), nowMs, after };
    return openDevice({ url, store, platform, live: false, pageObjects: 100 });
  };
  const seen = { key: await secureKey(items, { randomBytes }) };
  const first = await open();
  await first.signIn({ login: 'ada', password: 'long enough' });
  await first.sync();
  const orders = first.source('Order', { indexes: ['place'] });
  seen.count = orders.list().length;
  const query = orders.query({ where: { place: 'Zürich' }, orderBy: { name: 'desc' }, limit: 3 });
  seen.rows = query.getSnapshot();
  await orders.update('o7', { name: 'seven 😀' });
  await orders.create({ name: 'new', place: 'Genève' });
  seen.waiting = first.uploads.list().length;
  await first.sync();
  seen.pending = first.status.getSnapshot().pendingUploads;
  await first.close();

  const second = await open();
  second.goOffline();
  const again = second.source('Order');
  seen.again = again.list().length;
  await again.delete('o8');
  seen.offline = second.status.getSnapshot().mode;
  second.goOnline();
  await second.sync();
  seen.edited = again.get('o7').attributes;
  seen.deleted = again.get('o8') ?? null;
  seen.problems = second.problems.list();
  seen.heals = second.status.getSnapshot().heals;
  await second.close();
  return seen;
};
