import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { type ServerProcess, startServerProcess } from '@tidemark/testing/kit';
import { startBareFiles } from '../bare-files.ts';
import { newFolder } from '../fixture.ts';
import { compare } from '../measure.ts';
import { peakBytesOf } from '../peers/peer-process.ts';
import type { Row } from '../row.ts';
import { pushWithoutFiles } from './push-without-files.ts';

const MB = 1_000_000;
/** As phones take photos, and as people scan documents. */
const SMALL = 3 * MB;
const LARGE = 200 * MB;
const HUGE = 1_000 * MB;
const CHUNK = 65_536;
/** Files that warm the server up before its memory is looked at. */
const WARM_UP = 50;

/** Where files go to and come from, with the headers of a caller who may do that. */
interface Place {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Files on their way to a server and from it, beside node:http that writes a body to a file and sends it: without hash, rights,
 * index and record. The bytes of one backend go in one request, durable before the answer on both sides.
 */
export async function files(say: (line: string) => void): Promise<readonly Row[]> {
  const server = await startServerProcess();
  const folder = newFolder();
  const bare = await startBareFiles(folder);
  const ours = { url: `${server.url}/rc/v1/files`, headers: { 'x-sync-api-token': await logIn(server) } };
  const theirs = { url: bare.url, headers: {} };
  try {
    say('a push without files');
    const rows = [await pushWithoutFiles(say)];
    for (const size of [SMALL, LARGE]) {
      say(`files of ${size / MB} MB`);
      rows.push(...(await throughput(ours, theirs, size)));
    }
    say(`a file of ${HUGE / MB} MB`);
    rows.push(await memory(ours, server.pid));
    return rows;
  } finally {
    await Promise.all([server.stop(), bare.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function logIn({ url, adminPassword: password }: ServerProcess): Promise<string> {
  const body = JSON.stringify({ login: 'admin', password });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/rc/v1/system/login`, { method: 'POST', headers, body });
  if (response.status !== 200) throw new Error(await response.text());
  return response.text();
}

let seed = 0;

async function throughput(ours: Place, theirs: Place, size: number): Promise<readonly Row[]> {
  const rounds = size === SMALL ? { count: 7, runs: 20 } : { count: 5, runs: 1 };
  // One round more, for the warming up. Their names are known before the clock runs.
  const waiting = Array.from({ length: (rounds.count + 1) * rounds.runs }, () => named(new TestFile(size, ++seed)));
  let url = '';
  const store = () => {
    const { sha256, file } = waiting.pop() ?? named(new TestFile(size, ++seed));
    url = `${ours.url}/${sha256}`;
    return put(url, ours, file);
  };
  const write = () => put(theirs.url, theirs, new TestFile(size, ++seed));
  const up = await compare([store, write], rounds);
  const down = await compare([() => get(url, ours), () => get(theirs.url, theirs)], rounds);
  const what = `of ${size / MB} MB`;
  return [
    rowOf(`upload of a file ${what}`, up.medianMs, size),
    rowOf(`download of a file ${what}`, down.medianMs, size),
  ];
}

function rowOf(name: string, [ours = 0, bare = 0]: readonly number[], size: number): Row {
  const text = (ms: number) => `${ms.toFixed(1)} ms (${(size / MB / (ms / 1_000)).toFixed(0)} MB/s)`;
  return {
    name,
    measured: text(ours),
    against: `${text(bare)} by node:http`,
    ratio: ours / bare,
    bound: { atMost: 3 },
  };
}

/** The highest memory while one large file comes and goes, against that after many small ones. */
async function memory(ours: Place, pid: number): Promise<Row> {
  const pass = async (size: number) => {
    const { sha256, file } = named(new TestFile(size, ++seed));
    await put(`${ours.url}/${sha256}`, ours, file);
    await get(`${ours.url}/${sha256}`, ours);
  };
  for (let count = 0; count < WARM_UP; count++) await pass(MB);
  const small = peakBytesOf(pid);
  await pass(HUGE);
  const huge = peakBytesOf(pid);
  return {
    name: `memory at most, with a file of ${HUGE / MB} MB`,
    measured: `${(huge / MB).toFixed(0)} MB`,
    against: `${(small / MB).toFixed(0)} MB with files of 1 MB`,
    ratio: huge / small,
    bound: { atMost: 1.3 },
  };
}

/** A file that no other one equals. It is made while it is read, so that the caller needs no memory for it. */
class TestFile {
  readonly size: number;
  readonly #chunk: Buffer;

  constructor(size: number, number: number) {
    this.size = size;
    this.#chunk = Buffer.alloc(CHUNK, `file ${number} `);
  }

  *chunks(): Iterable<Buffer> {
    for (let left = this.size; left > 0; left -= CHUNK)
      yield left < CHUNK ? this.#chunk.subarray(0, left) : this.#chunk;
  }
}

function named(file: TestFile): { readonly file: TestFile; readonly sha256: string } {
  const hash = createHash('sha256');
  for (const chunk of file.chunks()) hash.update(chunk);
  return { file, sha256: hash.digest('hex') };
}

async function put(url: string, { headers }: Place, file: TestFile): Promise<void> {
  const type = { 'content-type': 'image/jpeg', 'content-length': String(file.size) };
  await exchange(url, 'PUT', { ...headers, ...type }, Readable.from(file.chunks()));
}

function get(url: string, { headers }: Place): Promise<void> {
  return exchange(url, 'GET', headers, Readable.from([]));
}

function exchange(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body: Readable,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = httpRequest(url, { method, headers }, (answer) => {
      answer.resume();
      answer.once('error', reject);
      answer.once('end', () => {
        const { statusCode = 0 } = answer;
        if (statusCode >= 200 && statusCode < 300) resolve();
        else reject(new Error(`${method} was answered ${statusCode}`));
      });
    });
    call.once('error', reject);
    body.pipe(call);
  });
}
