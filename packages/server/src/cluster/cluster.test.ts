import { expect, it } from 'vitest';
import { Cluster } from './cluster.ts';
import type { ClusterListener } from './cluster-members.ts';
import type { ClusterQuery } from './hint.ts';

it('[MANY-23] a query of a kind that only a newer server knows is answered with 0 and sends no ping', () => {
  const pinged: string[] = [];
  const listeners: ClusterListener[] = [];
  const hub = {
    size: 3,
    isListening: () => true,
    ping: (client: string) => pinged.push(client) > 0,
  };
  const tidemark = { events: { on: () => () => undefined } };
  const members = { listen: (listener: ClusterListener) => listeners.push(listener) };
  new Cluster({ members, tidemark, hub } as unknown as ConstructorParameters<typeof Cluster>[0]);
  const answer = (query: object) => listeners[0]?.answer(query as ClusterQuery);
  expect(answer({ kind: 'sleeping', client: 'c1' })).toBe(0);
  expect(pinged).toEqual([]);
  expect(answer({ kind: 'listeners' })).toBe(3);
  expect(answer({ kind: 'listening', client: 'c1' })).toBe(1);
  expect(answer({ kind: 'ping', client: 'c1', ping: {} })).toBe(1);
  expect(pinged).toEqual(['c1']);
});
