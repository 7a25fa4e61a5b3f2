import type { Readable } from 'node:stream';
import { isSha256 } from '@tidemark/files';
import { Refusal } from '@tidemark/protocol';
import { text } from '@tidemark/protocol/annotated';
import { LostFiles, LostFilesRequest } from '@tidemark/protocol/sync-schemas';
import { Type } from '@tidemark/protocol/typebox';
import type { UploadState } from '../../files/file-uploads.ts';
import {
  countIn,
  OFFSET_TYPE,
  readAnnouncedFile,
  readChecksum,
  requireTusVersion,
  TUS_CHECKSUMS,
  TUS_EXTENSIONS,
  TUS_VERSION,
} from '../../files/tus-headers.ts';
import { BytesAnswer, type Call, route } from '../../http/route.ts';
import { MEMBERSHIP_REFUSALS } from '../../http/route-refusals.ts';
import { ownDevice } from './acting-device.ts';

const UPLOADS = '/sync/v1/files/uploads';
const EXAMPLE = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const FileParams = Type.Object({
  sha256: text('The SHA-256 of the file, as 64 lower-case hex digits.', EXAMPLE),
});

const Nothing = Type.Null({ description: 'Nothing: the headers say everything.' });
const FileBytes = Type.String({ description: 'The bytes of the file.' });

const TUS = { 'tus-resumable': TUS_VERSION, 'tus-version': TUS_VERSION } as const;

const describe = route({
  method: 'OPTIONS',
  path: '/sync/v1/files',
  operationId: 'deviceFilesOptions',
  scope: 'public',
  summary: 'What the server speaks of tus 1.0, the protocol of resumable uploads',
  status: 204,
  answer: Nothing,
  handle: async ({ context }) =>
    new BytesAnswer(204, {
      ...TUS,
      'tus-extension': TUS_EXTENSIONS,
      'tus-checksum-algorithm': TUS_CHECKSUMS,
      'tus-max-size': String(context.files.limits.sizeMax),
    }),
});

const begin = route({
  method: 'POST',
  path: '/sync/v1/files',
  operationId: 'deviceFilesBegin',
  scope: 'device',
  summary: 'Begin to upload a file, or find what has arrived of it',
  description:
    'A creation of tus 1.0. `Upload-Metadata` has `sha256`, the base64 of 64 hex digits. `Upload-Offset` in the answer says how many bytes are there; when it equals `Upload-Length`, the file is stored, and nothing has to be sent.',
  refusals: [
    'tus_version',
    'invalid_value',
    'file_too_large',
    'too_many_uploads',
    'quota_exceeded',
    'file_busy',
    'upload_locked',
    'file_hash_mismatch',
  ],
  takesBytes: true,
  status: 201,
  answer: Nothing,
  handle: async ({ context, bearer, request }) => {
    requireTusVersion(request.headers);
    const device = await ownDevice(context, bearer);
    const { sha256, size } = readAnnouncedFile(request.headers);
    const state = await context.files.uploads.begin(device, sha256, size);
    return new BytesAnswer(201, { ...stateHeaders(state), location: `${UPLOADS}/${sha256}` });
  },
});

const find = route({
  method: 'HEAD',
  path: `${UPLOADS}/:sha256`,
  operationId: 'deviceFilesOffset',
  scope: 'device',
  summary: 'How many bytes of an upload have arrived',
  refusals: ['upload_not_found', 'upload_locked', 'file_hash_mismatch', 'file_busy', 'quota_exceeded'],
  params: FileParams,
  answer: Nothing,
  handle: async ({ context, bearer, params }) => {
    const device = await ownDevice(context, bearer);
    const state = await context.files.uploads.find(device, uploadIn(params));
    if (state === null) throw unknownUpload();
    return new BytesAnswer(200, stateHeaders(state));
  },
});

const append = route({
  method: 'PATCH',
  path: `${UPLOADS}/:sha256`,
  operationId: 'deviceFilesAppend',
  scope: 'device',
  summary: 'Send bytes of an upload',
  description:
    'The body is the bytes from `Upload-Offset` on. What the new `Upload-Offset` counts is durable. The last bytes make the file, if all of them have its hash.',
  refusals: [
    'tus_version',
    'upload_not_found',
    'wrong_offset',
    'upload_locked',
    'checksum_mismatch',
    'file_hash_mismatch',
    'file_too_large',
    'file_busy',
    'quota_exceeded',
    'invalid_value',
  ],
  params: FileParams,
  takesBytes: true,
  status: 204,
  answer: Nothing,
  handle: appendBytes,
});

async function appendBytes({
  context,
  bearer,
  params,
  body,
  request,
  hasHungUp,
}: Call<{ sha256: string }, unknown, unknown>) {
  requireTusVersion(request.headers);
  if (request.headers['content-type'] !== OFFSET_TYPE) {
    throw new Refusal('unsupported_media_type', `send the bytes with Content-Type: ${OFFSET_TYPE}`);
  }
  const offset = countIn(request.headers, 'upload-offset');
  const checksum = readChecksum(request.headers);
  const sha256 = uploadIn(params);
  const device = await ownDevice(context, bearer);
  const bytes = { offset, checksum, body: body as Readable | undefined };
  const append = () => context.files.uploads.append(device, sha256, bytes);
  return new BytesAnswer(204, stateHeaders(await context.files.within(`user ${device.user}`, hasHungUp, append)));
}

const lost = route({
  method: 'POST',
  path: '/sync/v1/files/lost',
  operationId: 'deviceFilesLost',
  scope: 'device',
  summary: 'Which files of the device the server has lost',
  description:
    'A device asks this now and then about files that have arrived, and that it still has. It sends those of the answer again: the server has found them missing or damaged.',
  refusals: ['invalid_request', 'user_not_found', ...MEMBERSHIP_REFUSALS],
  body: LostFilesRequest,
  answer: LostFiles,
  handle: async ({ context, bearer, body }) => {
    const { user } = await ownDevice(context, bearer);
    return { files: [...(await context.tidemark.files.lostAmong(user, body.files))] };
  },
});

const drop = route({
  method: 'DELETE',
  path: `${UPLOADS}/:sha256`,
  operationId: 'deviceFilesDrop',
  scope: 'device',
  summary: 'Give up an upload',
  refusals: ['tus_version', 'upload_not_found', 'upload_locked'],
  params: FileParams,
  status: 204,
  answer: Nothing,
  handle: async ({ context, bearer, params, request }) => {
    requireTusVersion(request.headers);
    await context.files.uploads.drop(await ownDevice(context, bearer), uploadIn(params));
    return new BytesAnswer(204, TUS);
  },
});

const download = route({
  method: 'GET',
  path: '/sync/v1/files/:sha256',
  operationId: 'deviceFilesDownload',
  scope: 'device',
  summary: 'Download a file, or a part of it',
  description:
    'A device may read a file that an object of its user refers to. `Range` and `If-Range` ask for a part. A file that does not exist and one that the device may not read get the same answer.',
  refusals: ['file_not_found', 'range_not_satisfiable', 'user_not_found', ...MEMBERSHIP_REFUSALS],
  params: FileParams,
  answer: FileBytes,
  streams: 'application/octet-stream',
  handle: async ({ context, bearer, params, request }) => {
    const device = await ownDevice(context, bearer);
    const open = () => context.files.openFor(device.user, params.sha256, request);
    const { status, headers, chunks, onEnd } = await context.files.sendTo(`user ${device.user}`, open);
    return new BytesAnswer(status, headers, chunks, onEnd);
  },
});

function uploadIn({ sha256 }: { readonly sha256: string }): string {
  if (!isSha256(sha256)) throw unknownUpload();
  return sha256;
}

function unknownUpload(): Refusal {
  return new Refusal('upload_not_found', 'the device has no such upload');
}

function stateHeaders({ size, offset, expiresMs }: UploadState): Readonly<Record<string, string>> {
  return {
    ...TUS,
    'upload-offset': String(offset),
    'upload-length': String(size),
    ...(expiresMs === null ? {} : { 'upload-expires': new Date(expiresMs).toUTCString() }),
  };
}

export const deviceFileRoutes = [describe, begin, find, append, lost, drop, download];
