import { Refusal } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import type { Jobs, LeasedJob } from '../ports/jobs.ts';
import { userPartition } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import { announceChange, announceToAll } from './announce-change.ts';
import type { Pings } from './pings.ts';

it('[PING-41] users are notified although one of them has more devices than fit into one ping', async () => {
  const pinged: string[] = [];
  const announce = async (_source: string, users: readonly string[]) => {
    if (users.includes('many')) throw new Refusal('limit_exceeded', 'too many devices');
    pinged.push(...users);
  };
  const pings = { announce } as unknown as Pings;
  const entries = ['ada', 'bob', 'many', 'zoe'].map((login) => ({ key: [login], value: '', version: 1 }));
  const store = { listEntries: async () => entries } as unknown as Store;
  const jobs = {} as Jobs;
  const job = { payload: JSON.stringify({ source: 'Order', after: null }) } as LeasedJob;
  await announceToAll(store, pings, jobs)(job, () => new AbortController().signal);
  await announceChange(pings, jobs, userPartition('Order', 'many'));
  expect(pinged).toEqual(['ada', 'bob', 'zoe']);
});
