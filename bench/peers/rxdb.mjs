// RxDB Server with the storage that RxDB gives away for Node.js: memory. A restart loses everything.
import { createServer } from 'node:net';
import { createRxDatabase } from 'rxdb/plugins/core';
import { getRxStorageMemory } from 'rxdb/plugins/storage-memory';
import { RxServerAdapterExpress } from 'rxdb-server/plugins/adapter-express';
import { createRxServer } from 'rxdb-server/plugins/server';

const database = await createRxDatabase({ name: 'peer', storage: getRxStorageMemory() });
const schema = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 100 },
    item: { type: 'string' },
    price: { type: 'number' },
    note: { type: 'string' },
  },
};
const collections = await database.addCollections(
  Object.fromEntries(['large', 'small', 'deleted'].map((name) => [name, { schema }])),
);
const port = await freePort();
const server = await createRxServer({ database, adapter: RxServerAdapterExpress, hostname: '127.0.0.1', port });
for (const [name, collection] of Object.entries(collections)) server.addReplicationEndpoint({ name, collection });
await server.start();
console.log(`ready ${port}`);

/** The server needs the number of its port in advance. */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
}
