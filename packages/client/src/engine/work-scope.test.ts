import { expect, it } from 'vitest';
import { Replica } from '../replica/replica.ts';
import { LocalState } from '../state/local-state.ts';
import { memoryStore } from '../stores/memory-store.ts';
import { transactIn } from './work-scope.ts';

const SESSION = { token: 't', userId: 'ada', clientId: 'c1', givenAtMs: 0, expiresAtMs: 1 };

it('[SESSION-9] work of one user is not stored when another one with the same login has signed in, who has another device', async () => {
  const state = new LocalState([{ table: 'facts', key: ['', 'session'], value: SESSION }]);
  const replica = new Replica(() => undefined, memoryStore());
  replica.open(state);
  const { signal } = new AbortController();
  const work = (userId: string, clientId: string) => transactIn(replica, { userId, clientId, signal }, () => 'stored');
  expect(await work('ada', 'c1')).toBe('stored');
  await expect(work('ada', 'c2')).rejects.toMatchObject({ code: 'aborted' });
  await expect(work('bob', 'c1')).rejects.toMatchObject({ code: 'aborted' });
});
