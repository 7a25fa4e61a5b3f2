import { expect, it } from 'vitest';
import { clientError } from '../client-error.ts';
import { storeError } from './store-error.ts';

const FULL =
  'there is no room left to store data on this device: free some space, or delete data of other apps; what was stored before is still there';

it('[LOCAL-13] every kind of error that says that a storage is full becomes storage_full with a message that says what to do', () => {
  const errors = [
    // Chromium gives no message.
    new DOMException('', 'QuotaExceededError'),
    new DOMException('The current transaction exceeded its quota limitations.', 'QuotaExceededError'),
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }),
    Object.assign(new Error('EDQUOT: disk quota exceeded, write'), { code: 'EDQUOT' }),
    new Error('database or disk is full (code 13 SQLITE_FULL)'),
  ];
  for (const error of errors) {
    expect(storeError(error)).toMatchObject({ code: 'storage_full', message: FULL, detail: FULL, cause: error });
  }
});

it('[LOCAL-13] every other error of a storage has a message, and one with a code keeps it', () => {
  expect(storeError(new Error('broken'))).toMatchObject({ code: 'store_failed', detail: 'broken' });
  expect(storeError(new DOMException('', 'UnknownError'))).toMatchObject({
    code: 'store_failed',
    detail: 'the storage failed with UnknownError',
  });
  expect(storeError(null)).toMatchObject({ code: 'store_failed', detail: 'the storage gave up without a reason' });
  const own = clientError('store_in_use', 'another tab has it');
  expect(storeError(own)).toBe(own);
});
