import type { FileUpload } from '@tidemark/files';
import { refusalOf } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { FILE_UPLOADS_PER_USER_MAX } from '../limits.ts';
import { UnfinishedUploads } from './unfinished-uploads.ts';

const OWNER = 'owner';
const START = { sha256: 'a'.repeat(64), size: 1 };

/** Uploads in memory, of which `count` have begun. */
function openUploads(count: number, bytesMax = FILE_UPLOADS_PER_USER_MAX) {
  const uploads = new Map<string, FileUpload>();
  const createUpload = async (id: string, start: typeof START) => {
    const upload = { ...start, id, offset: 0, changedMs: 0 };
    uploads.set(id, upload);
    return upload;
  };
  const listUploads = async ({ limit }: { readonly limit: number }) => [...uploads.values()].slice(0, limit);
  for (let number = 0; number < count; number++) void createUpload(`${number}`, START);
  const unfinished = new UnfinishedUploads({ engine: { createUpload, listUploads }, bytesMax });
  return { uploads, begin: (id: string, size = 1) => unfinished.begin(OWNER, id, { ...START, size }) };
}

it('[FILES-102] a user has so many unfinished uploads and no more, and those that have begun go on', async () => {
  const { uploads, begin } = openUploads(FILE_UPLOADS_PER_USER_MAX - 1);
  const ends = await Promise.allSettled([begin('last'), begin('one more')]);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await refusalOf(begin('one more'))).toBe('too_many_uploads');
  expect(await begin('0')).toMatchObject({ id: '0' });
  uploads.delete('0');
  expect(await begin('one more')).toMatchObject({ id: 'one more' });
});

it('[FILES-102] an upload goes on also if the unfinished ones have more bytes than are allowed by now', async () => {
  const { begin } = openUploads(3, 2);
  expect(await begin('1')).toMatchObject({ id: '1' });
  expect(await refusalOf(begin('1', 2))).toBe('too_many_uploads');
  expect(await refusalOf(begin('another'))).toBe('too_many_uploads');
});
