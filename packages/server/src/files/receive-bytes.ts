import type { Readable } from 'node:stream';
import { Refusal } from '@tidemark/protocol';
import { STALL_MS_MAX } from '../limits.ts';
import type { UploadLock } from './upload-locks.ts';

/**
 * Reads the bytes of a request as fast as they are taken: the next chunk is read when the one before has been handled. A
 * caller that sends nothing for long, or whose place another call takes, is cut off.
 */
export async function* receiveBytes(
  body: Readable,
  { signal, touch }: UploadLock,
  stallMs = STALL_MS_MAX,
): AsyncGenerator<Uint8Array> {
  const cutOff = () => body.destroy(new Refusal('request_timeout', 'the bytes of the file did not arrive'));
  let stall = setTimeout(cutOff, stallMs);
  signal.addEventListener('abort', cutOff);
  try {
    if (signal.aborted) cutOff();
    // A body that is not read to its end is left to the connection, which can still answer.
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      touch();
      // Only the caller is waited for: what the storage needs for a chunk is its own time.
      clearTimeout(stall);
      yield chunk as Uint8Array;
      stall = setTimeout(cutOff, stallMs);
    }
  } finally {
    clearTimeout(stall);
    signal.removeEventListener('abort', cutOff);
  }
}
