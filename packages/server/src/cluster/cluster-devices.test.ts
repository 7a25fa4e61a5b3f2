import { expect, it } from 'vitest';
import { ClusterDevices } from './cluster-devices.ts';
import type { ClusterQuery } from './hint.ts';

it('[DEVICE-26] a listing of many devices asks other servers in parts, and finds those of every part', async () => {
  const clients = Array.from({ length: 450 }, (_, index) => `c${index}`);
  const elsewhere = new Set(['c0', 'c250', 'c449']);
  const asked: string[] = [];
  const hub = { isListening: (client: string) => client === 'c1' };
  const collect = async (query: ClusterQuery) => {
    if (query.kind !== 'listening_of') throw new Error('it asks which devices listen');
    expect(query.clients.length).toBeLessThanOrEqual(200);
    asked.push(...query.clients);
    // An older server answers a query that it does not know with 0.
    return [0, query.clients.filter((client) => elsewhere.has(client))];
  };
  type Parts = ConstructorParameters<typeof ClusterDevices>;
  const devices = new ClusterDevices(hub as unknown as Parts[0], { count: 2, collect } as unknown as Parts[1]);
  expect([...(await devices.listeningOf(clients))].sort()).toEqual(['c0', 'c1', 'c250', 'c449']);
  expect(asked).toEqual(clients.filter((client) => client !== 'c1'));
});
