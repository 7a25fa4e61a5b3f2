import { createCollection } from '@tanstack/db';
import { openTestServer } from '@tidemark/client-testing';
import { openSqliteStore } from '@tidemark/sqlite';
import sqlite from 'node-sqlite3-wasm';
import { expect, it, onTestFinished } from 'vitest';
import { tidemarkCollectionOptions } from './index.ts';

it('[DISK-10] a collection of a source on the disk is ready when it has all rows, follows them, and stores mutations', async () => {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'] });
  onTestFinished(() => server.close());
  const orders = Object.fromEntries(Array.from({ length: 1_200 }, (_, n) => [`o${n}`, { total: n }]));
  await server.push('Order', orders, { user: 'ada' });
  const database = new sqlite.Database(':memory:');
  const store = await openSqliteStore({
    execute: (statements) => database.exec(statements),
    run: (statement, values) => database.run(statement, [...values]),
    all: (query, values) => database.all(query, [...values]) as never,
    close: () => database.close(),
  });
  const device = await server.openDevice({ user: 'ada', store });
  const source = device.source<{ total: number }>('Order', { keep: 'disk' });
  await device.sync();
  const collection = createCollection(tidemarkCollectionOptions({ device, source }));
  await collection.preload();
  expect(collection.size).toBe(1_200);
  await collection.insert({ id: 'new', total: 5 }).isPersisted.promise;
  await collection.update('o7', (draft) => {
    draft.total = 70;
  }).isPersisted.promise;
  expect([collection.size, collection.get('o7')?.total]).toEqual([1_201, 70]);
  await device.sync();
  await server.push('Order', { o8: { total: 80 } }, { user: 'ada' });
  await device.sync();
  expect([collection.get('o8')?.total, (await server.objects('Order', { user: 'ada' })).o7]).toEqual([
    80,
    { total: 70 },
  ]);
});
