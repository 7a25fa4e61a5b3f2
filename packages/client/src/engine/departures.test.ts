import { expect, it } from 'vitest';
import { clientError } from '../client-error.ts';
import { Departures } from './departures.ts';
import type { DeviceData } from './device-data.ts';
import type { LazyFiles } from './lazy-files.ts';
import { LazyNetwork } from './lazy-network.ts';
import type { Sessions } from './sessions.ts';

/** Ends a session. Returns whether the device was told that it has ended. */
async function end({ current, isStored = true }: { readonly current: object | null; readonly isStored?: boolean }) {
  let isTold = false;
  const sessions = {
    end: () => (isStored ? Promise.resolve() : Promise.reject(new Error('the disk is full'))),
    current: () => current,
  };
  const departures = new Departures({
    sessions: sessions as unknown as Sessions,
    data: {} as unknown as DeviceData,
    network: new LazyNetwork(() => Promise.reject(new Error('there is no network'))),
    files: {} as unknown as LazyFiles,
    mayUseNetwork: () => false,
    onLeft: () => undefined,
    onEnded: () => {
      isTold = true;
    },
    onFailed: () => undefined,
  });
  await departures.end(clientError('sign_in_required', 'the session has expired'));
  return isTold;
}

it('[SESSION-4] a session that has ended does not end the one that the user has begun while that was being stored', async () => {
  const session = { userId: 'ada' };
  expect(await end({ current: null })).toBe(true);
  expect(await end({ current: session })).toBe(false);
  expect(await end({ current: session, isStored: false })).toBe(true);
});
