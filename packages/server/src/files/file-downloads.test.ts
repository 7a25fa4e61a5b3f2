import type { FileEngine } from '@tidemark/files';
import { expect, it } from 'vitest';
import { FILE_RIGHTS_CHECK_BYTES } from '../limits.ts';
import { openDownload } from './file-downloads.ts';

const MIB = 1_048_576;
const SHA256 = 'ab'.repeat(32);

/** A file of so many bytes, which are read by the mebibyte. */
function engineWith(size: number): FileEngine {
  const engine: Pick<FileEngine, 'stat' | 'read'> = {
    stat: async (sha256) => ({ sha256, size, storedMs: 0 }),
    read: async function* (_sha256, { first, last } = { first: 0, last: size - 1 }) {
      for (let at = first; at <= last; at += MIB) yield Buffer.alloc(Math.min(MIB, last + 1 - at));
    },
  };
  return engine as FileEngine;
}

it('[FILES-71] a download asks again after FILE_RIGHTS_CHECK_BYTES whether its reader may read the file, and ends if not', async () => {
  const engine = engineWith(4 * FILE_RIGHTS_CHECK_BYTES);
  let mayRead = true;
  const source = { engine, sha256: SHA256, linkS: 0, onMissing: async () => undefined };
  const { status, chunks } = await openDownload(source, { method: 'GET', headers: {} }, async () => mayRead);
  mayRead = false;
  let received = 0;
  const receive = async () => {
    for await (const chunk of chunks ?? []) received += chunk.length;
  };
  await expect(receive()).rejects.toMatchObject({ code: 'file_not_found' });
  expect([status, received]).toEqual([200, FILE_RIGHTS_CHECK_BYTES - MIB]);
});
