import type { Readable } from 'node:stream';
import type { FileObject, FilePosition, FileScope } from '@tidemark/core';
import { isSha256 } from '@tidemark/files';
import { type FileValue, fileNameProblem, isMediaType, pointer, Refusal } from '@tidemark/protocol';
import {
  ClientFiles,
  FileCheck,
  FileList,
  FileReferenceValue,
  FileUsage,
  FileUses,
  ListedFile,
} from '@tidemark/protocol/admin/files';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { isFromConsole } from '../auth/session-cookie.ts';
import { fileNotFound } from '../files/file-downloads.ts';
import { BytesAnswer, type Call, route } from '../http/route.ts';
import { CLIENT_FILES_LISTED_MAX } from '../limits.ts';
import { pageOf } from './paging.ts';
import { ClientId, Empty, pageQuery, SourceId, UserId } from './shapes.ts';

const FILES = '/rc/v1/files';
const EXAMPLE = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const OCTETS = 'application/octet-stream';

const FileParams = Type.Object({
  sha256: text('The SHA-256 of the file, as 64 lower-case hex digits.', EXAMPLE),
});
const NameQuery = Type.Object(
  { name: Type.Optional(text('What people call the file; it becomes part of the reference.', 'bow.jpg')) },
  closed,
);
const STORING = ['invalid_value', 'file_too_large', 'file_busy', 'file_hash_mismatch'] as const;

type Upload = Call<unknown, { readonly name?: string }, unknown>;

const put = route({
  method: 'PUT',
  path: `${FILES}/:sha256`,
  operationId: 'filesPut',
  scope: 'push',
  summary: 'Store a file whose hash is known',
  description:
    'The body is the bytes, as they are. They become a file when all of them have the hash. A file that is stored already is answered at once. `Content-Type` becomes part of the reference.',
  refusals: STORING,
  params: FileParams,
  query: NameQuery,
  takesBytes: true,
  answer: FileReferenceValue,
  handle: (call) => store(call, sha256In(call.params.sha256)),
});

const add = route({
  method: 'POST',
  path: FILES,
  operationId: 'filesAdd',
  scope: 'push',
  summary: 'Store a file whose hash the server computes',
  description:
    'The body is the bytes, as they are; `Content-Type` becomes part of the reference. Equal bytes are stored once, so the call can be repeated.',
  refusals: STORING,
  query: NameQuery,
  takesBytes: true,
  answer: FileReferenceValue,
  handle: (call) => store(call, null),
});

async function store(call: Upload, sha256: string | null): Promise<FileValue> {
  const { context, body, request, query, hasHungUp } = call;
  const { headers } = request;
  const reference = { type: typeIn(headers['content-type']), ...nameIn(query.name) };
  const announced = headers['content-length'];
  const size = announced === undefined ? null : Number(announced);
  const file = { sha256, size, body: body as Readable | undefined };
  const stored = await context.files.within(callerOf(call), hasHungUp, () => context.files.ofBackend.store(file));
  return { $file: { sha256: stored.sha256, size: stored.size, ...reference } };
}

function typeIn(header: string | undefined): string {
  if (header === undefined) return OCTETS;
  if (isMediaType(header)) return header;
  throw flawed('content-type', 'must be a media type such as image/jpeg');
}

function nameIn(name: string | undefined): { readonly name?: string } {
  if (name === undefined) return {};
  const problem = fileNameProblem(name);
  if (problem !== null) throw flawed('name', problem);
  return { name };
}

function sha256In(sha256: string): string {
  if (isSha256(sha256)) return sha256;
  throw flawed('sha256', 'must be 64 lower-case hexadecimal digits');
}

function flawed(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

function callerOf({ bearer }: Pick<Upload, 'bearer'>): string {
  return `token ${bearer?.tokenId ?? ''}`;
}

const download = route({
  method: 'GET',
  path: `${FILES}/:sha256`,
  operationId: 'filesDownload',
  scope: 'read',
  summary: 'Download a file, or a part of it',
  description: '`Range` and `If-Range` ask for a part; `If-None-Match` with the `ETag` gets 304.',
  refusals: ['file_not_found', 'range_not_satisfiable'],
  params: FileParams,
  answer: Type.String({ description: 'The bytes of the file.' }),
  streams: OCTETS,
  handle: async (call) => {
    const { context, params, request } = call;
    const open = () => context.files.openAny(params.sha256, request, !isFromConsole(request));
    const { status, headers, chunks, onEnd } = await context.files.sendTo(callerOf(call), open);
    return new BytesAnswer(status, headers, chunks, onEnd);
  },
});

const STATE = Type.Enum(['missing'], {
  description: '`missing`: only files that objects refer to and whose bytes have not arrived.',
  examples: ['missing'],
});

const list = route({
  method: 'GET',
  path: FILES,
  operationId: 'filesList',
  scope: 'read',
  summary: 'The files that are stored, and those that objects refer to',
  description: 'At most one of `source`, `user` and `state` chooses some of them.',
  refusals: ['source_not_found', 'user_not_found'],
  query: pageQuery('`next` of the answer', EXAMPLE, {
    source: Type.Optional(SourceId),
    user: Type.Optional(UserId),
    state: Type.Optional(STATE),
  }),
  answer: FileList,
  handle: ({ context, query }) => context.files.catalogue.list(scopeIn(query), pageOf(query)),
});

interface ScopeQuery {
  readonly source?: string;
  readonly user?: string;
  readonly state?: string;
}

function scopeIn({ source, user, state }: ScopeQuery): FileScope {
  const [scope = { kind: 'all' }, other]: readonly FileScope[] = [
    ...(source === undefined ? [] : [{ kind: 'source', source } as const]),
    ...(user === undefined ? [] : [{ kind: 'user', user } as const]),
    ...(state === undefined ? [] : [{ kind: 'missing' } as const]),
  ];
  if (other === undefined) return scope;
  throw flawed(
    other.kind === 'missing' ? 'state' : other.kind,
    'cannot be combined with another filter; send one of source, user and state',
  );
}

const usage = route({
  method: 'GET',
  path: `${FILES}/usage`,
  operationId: 'filesUsage',
  scope: 'read',
  summary: 'How much is stored, and what has not arrived',
  answer: FileUsage,
  handle: async ({ context: { files } }) => {
    const { sizeMax: size_max, quotaBytes: quota_bytes } = files.limits;
    return { ...(await files.catalogue.usage()), size_max, quota_bytes };
  },
});

const facts = route({
  method: 'GET',
  path: `${FILES}/:sha256/facts`,
  operationId: 'filesFacts',
  scope: 'read',
  summary: 'What is known of a file',
  description: 'Also of one that objects refer to, and whose bytes have not arrived.',
  refusals: ['invalid_value', 'file_not_found'],
  params: FileParams,
  answer: ListedFile,
  handle: async ({ context, params }) => {
    const file = await context.files.catalogue.find(sha256In(params.sha256));
    if (file === null) throw fileNotFound();
    return file;
  },
});

const ofClient = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/files',
  operationId: 'clientsFiles',
  scope: 'read',
  summary: 'The files that are still only on a device',
  description: 'The device has objects that refer to them, and their bytes have not arrived.',
  refusals: ['client_not_found'],
  params: Type.Object({ client_id: ClientId }),
  answer: ClientFiles,
  handle: async ({ context, params: { client_id } }) => {
    await context.tidemark.clients.get(client_id);
    const found = await context.files.catalogue.waitingOn(client_id, CLIENT_FILES_LISTED_MAX + 1);
    return { files: found.slice(0, CLIENT_FILES_LISTED_MAX), is_whole: found.length <= CLIENT_FILES_LISTED_MAX };
  },
});

const where = route({
  method: 'GET',
  path: `${FILES}/:sha256/objects`,
  operationId: 'filesWhere',
  scope: 'read',
  summary: 'The objects that refer to a file',
  description: 'Of each user, group or shared source at most 1,000 objects are named.',
  params: FileParams,
  query: pageQuery('`next` of the answer', 'Inspection/anna/17', {}),
  answer: FileUses,
  handle: async ({ context, params, query }) => {
    const position: FilePosition = pageOf(query);
    const { objects, next } = await context.files.catalogue.where(sha256In(params.sha256), position);
    return { objects: objects.map(shownUse), next };
  },
});

function shownUse({ source, owner, object }: FileObject) {
  return {
    source,
    user: owner.kind === 'user' ? owner.login : null,
    group: owner.kind === 'group' ? owner.name : null,
    object_id: object,
  };
}

const verify = route({
  method: 'POST',
  path: `${FILES}/:sha256/verify`,
  operationId: 'filesVerify',
  scope: 'admin',
  summary: 'Read a file again, and compare its bytes with its hash',
  description:
    'One that is damaged or gone counts as not stored from then on, so that devices which have it send it again.',
  refusals: ['file_not_found'],
  params: FileParams,
  body: Empty,
  answer: FileCheck,
  audit: 'file.verify',
  auditResult: (answer) => (answer as FileCheck).problem ?? 'ok',
  handle: async (call) => {
    const { context, params, hasHungUp } = call;
    const read = () => context.files.verify(params.sha256);
    const { size, problem } = await context.files.within(callerOf(call), hasHungUp, read);
    const checked_at = new Date(context.nowMs()).toISOString();
    return { sha256: params.sha256, size, is_intact: problem === null, problem, checked_at };
  },
});

export const fileRoutes = [add, list, usage, put, download, facts, where, verify, ofClient];
