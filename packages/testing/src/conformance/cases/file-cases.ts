import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { ConformanceCase, Expected, Sent } from '../conformance-case.ts';
import { listWith, Matcher, MOMENT, wholeNumber } from '../matcher.ts';
import { get, json, post, refused } from '../requests.ts';
import { byDevice, signsIn } from './device-requests.ts';
import { aSource, aUser, push } from './fixtures.ts';

const FILES = '/sync/v1/files';
/** The hashes of the texts `hello` and `other`. */
const HELLO = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824';
const OTHER = 'd9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa';
const HELLO_FILE = { $file: { sha256: HELLO, size: 5, type: 'text/plain' } };
const TUS = { 'tus-resumable': '1.0.0' };

const bare = (status: number): Expected => ({ kind: 'bare', status });
const binary: Expected = { kind: 'file', type: 'application/octet-stream' };

function call(method: string, path: string, headers: Readonly<Record<string, string>>, text?: string): Sent {
  return byDevice({ method, path, headers: { ...TUS, ...headers }, ...(text === undefined ? {} : { text }) });
}

function begins(sha256: string): Sent {
  const metadata = `sha256 ${Buffer.from(sha256).toString('base64')}`;
  return call('POST', FILES, { 'upload-length': '5', 'upload-metadata': metadata });
}

function sends(sha256: string, text: string): Sent {
  const headers = { 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  return call('PATCH', `${FILES}/uploads/${sha256}`, headers, text);
}

const REST = '/rc/v1/files';
const PLAIN = { 'content-type': 'text/plain' };
const reference = (sha256: string, size: number) => ({ $file: { sha256, size, type: 'text/plain' } });

const POSITION = new Matcher('a place in a list, or null', (value) => value === null || typeof value === 'string');
const INTACT = { is_intact: true, problem: null, checked_at: MOMENT };

/** Bytes that are no other case's file. */
const PAGE = 'a file of a backend';
const PAGE_SHA256 = createHash('sha256').update(PAGE).digest('hex');

const STORED = {
  ...{ sha256: PAGE_SHA256, size: PAGE.length, type: null, name: null, references: 0, devices: [], senders: [null] },
  ...{ is_stored: true, stored_at: MOMENT, missing_since: null },
};
const MOMENT_OR_NULL = new Matcher('a moment, or null', (value, kept) => value === null || MOMENT.accepts(value, kept));
const USAGE = {
  ...{ files: wholeNumber(1), bytes: wholeNumber(PAGE.length), missing: wholeNumber(0) },
  ...{ oldest_missing_since: MOMENT_OR_NULL, size_max: wholeNumber(1), quota_bytes: wholeNumber(1) },
};

export const fileCases: readonly ConformanceCase[] = [
  {
    rule: 'FILES-58',
    title: 'a backend stores a file with and without its hash, downloads it and finds it in the list',
    steps: () => [
      [{ method: 'POST', path: REST, headers: PLAIN, text: PAGE }, json(reference(PAGE_SHA256, PAGE.length))],
      [
        { method: 'PUT', path: `${REST}/${PAGE_SHA256}`, headers: PLAIN, text: PAGE },
        json(reference(PAGE_SHA256, PAGE.length)),
      ],
      [{ method: 'PUT', path: `${REST}/${OTHER}`, headers: PLAIN, text: 'not this' }, refused('file_hash_mismatch')],
      [{ method: 'PUT', path: `${REST}/x`, headers: PLAIN, text: PAGE }, refused('invalid_value', '/sha256')],
      [get(`${REST}/${PAGE_SHA256}`), binary],
      [{ method: 'HEAD', path: `${REST}/${PAGE_SHA256}` }, bare(200)],
      [get(`${REST}/${OTHER}`), refused('file_not_found')],
      [get(`${REST}?limit=1`), json({ files: listWith(), next: POSITION })],
      [get(`${REST}?user=x&state=missing`), refused('invalid_value', '/state')],
      [get(`${REST}/${PAGE_SHA256}/objects`), json({ objects: [], next: null })],
      [get(`${REST}/${PAGE_SHA256}/facts`), json(STORED)],
      [get(`${REST}/${OTHER}/facts`), refused('file_not_found')],
      [get(`${REST}/usage`), json(USAGE)],
      [get('/rc/v1/clients/nobody/files'), refused('client_not_found')],
      [post(`${REST}/${PAGE_SHA256}/verify`, {}), json({ ...INTACT, sha256: PAGE_SHA256, size: PAGE.length })],
      [post(`${REST}/${OTHER}/verify`, {}), refused('file_not_found')],
    ],
  },
  {
    rule: 'FILES-50',
    title: 'a file is uploaded and downloaded by a device, and an upload is given up',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [{ method: 'OPTIONS', path: FILES, token: 'none' }, bare(204)],
      [begins(HELLO), bare(201)],
      [sends(HELLO, 'hello'), bare(204)],
      [byDevice(get(`${FILES}/${HELLO}`)), refused('file_not_found')],
      aSource(name('Photo')),
      [
        post(push(name('Photo'), 'push_objects'), { user_id: name('anna'), objects: { 1: { photo: HELLO_FILE } } }),
        json({ source: name('Photo'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      [byDevice(get(`${FILES}/${HELLO}`)), binary],
      [get('/rc/v1/clients/{client}/files'), json({ files: [], is_whole: true })],
      [begins(OTHER), bare(201)],
      [call('HEAD', `${FILES}/uploads/${OTHER}`, {}), bare(200)],
      [call('DELETE', `${FILES}/uploads/${OTHER}`, {}), bare(204)],
      [sends(OTHER, 'other'), refused('upload_not_found')],
      [byDevice(get(`${FILES}/${OTHER}`)), refused('file_not_found')],
      [byDevice(post(`${FILES}/lost`, { files: [HELLO, OTHER] })), json({ files: [] })],
    ],
  },
];
