import { ClientError, clientError } from '../client-error.ts';

const FULL =
  'there is no room left to store data on this device: free some space, or delete data of other apps; what was stored before is still there';

/** Browsers by the name, Node.js by the code, SQLite under a key-value storage by the message. */
const IS_FULL = /QuotaExceeded|ENOSPC|EDQUOT|SQLITE_FULL|disk is full|no space left/i;

/** Turns an error of a storage into one with a code and a message, which some browsers leave empty. */
export function storeError(error: unknown): ClientError {
  if (error instanceof ClientError) return error;
  const {
    name = '',
    message = '',
    code = '',
  } = (error ?? {}) as { readonly [key in 'name' | 'message' | 'code']?: unknown };
  if (IS_FULL.test(`${name} ${code} ${message}`)) return clientError('storage_full', FULL, error);
  const reason = name === '' ? 'the storage gave up without a reason' : `the storage failed with ${name}`;
  return clientError('store_failed', message === '' ? reason : String(message), error);
}
