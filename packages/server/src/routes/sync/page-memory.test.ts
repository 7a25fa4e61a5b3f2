import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { DEFAULT_LIMITS, type Page } from '@tidemark/protocol';
import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../test-server.ts';

/** A few pages of a size that no socket takes at once, so that pages wait to be sent while the next are asked for. */
const OBJECTS = 8_000;
const REPEATS = 90;
const PAGE_UNITS = 3_000_000;
const SOURCE = 'Large';
const USERS = ['anna', 'bob'] as const;

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer({ limits: { ...DEFAULT_LIMITS, pageObjectsMax: OBJECTS, pageUnitsMax: PAGE_UNITS } });
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: SOURCE, partition_type: 'user' });
  for (const user of USERS) {
    await makeUser(server, user);
    const entries = Object.entries(objectsOf(user));
    for (let start = 0; start < OBJECTS; start += OBJECTS / 4) {
      const objects = Object.fromEntries(entries.slice(start, start + OBJECTS / 4));
      const { status } = await admin.post(`/app/v1/${SOURCE}/fast_insert`, { user_id: user, objects });
      expect(status).toBe(200);
    }
  }
});

afterAll(async () => {
  admin.close();
  await server.close();
});

function objectsOf(user: string): Record<string, { text: string }> {
  const entries = Array.from({ length: OBJECTS }, (_, n) => [
    `${user} ${n}`,
    { text: `${user} é ${n} `.repeat(REPEATS) },
  ]);
  return Object.fromEntries(entries) as Record<string, { text: string }>;
}

/** Comparing two texts is quick; comparing twelve thousand objects one by one is not. */
function digest(objects: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify(objects)).digest('hex');
}

async function call({ session }: TestDevice, method: string, path: string, body?: unknown): Promise<IncomingMessage> {
  const sent = request(server.url + path, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${session.token}`, 'content-type': 'application/json' },
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

/** Others get their turn, while most of what was asked for has not been read, and so not been sent. */
async function dawdle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await nextTurn();
}

/** All pages one behind the other; answers what was put. */
async function catchUp(device: TestDevice): Promise<Record<string, unknown>> {
  const held: Record<string, unknown> = {};
  for (let token: string | null = null, more = true; more; ) {
    const body = { client_id: device.id, sources: { [SOURCE]: { token } } };
    const response = await call(device, 'POST', '/sync/v1/pull', body);
    await dawdle();
    const { sources } = JSON.parse(await text(response)) as { sources: Record<string, Page> };
    const page = sources[SOURCE] as Page;
    Object.assign(held, page.put);
    ({ token, more } = page);
  }
  return held;
}

async function snapshot(device: TestDevice): Promise<Record<string, unknown>> {
  const response = await call(device, 'GET', `/sync/v1/sources/${SOURCE}/snapshot`);
  const chunks: Buffer[] = [];
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    if (chunks.length % 8 === 0) await dawdle();
  }
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
  return Object.assign({}, ...lines.map((line) => (JSON.parse(line) as Page).put));
}

describe('memory of pages', () => {
  it('[PAGE-16] nobody is sent what was read for somebody else, or for another page, while it was on its way', async () => {
    const told = USERS.flatMap((user) =>
      [catchUp, snapshot, catchUp].map(async (read) => {
        const device = await openDevice(server, user);
        expect(digest(await read(device))).toBe(digest(objectsOf(user)));
      }),
    );
    await Promise.all(told);
  });
});
