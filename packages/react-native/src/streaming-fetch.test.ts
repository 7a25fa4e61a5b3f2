import { makeUser, USER_PASSWORD, useBrowser } from '@tidemark/testing';
import { type BuiltApp, startBuiltApp } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { STREAM_UNITS_MAX, streamingFetch, type XhrLike } from './streaming-fetch.ts';

/** An app in a browser that has of the web what React Native has: answers are read when they are complete. */
const APP = `
import { openDevice } from '@tidemark/client';
import { phonePlatform } from '@tidemark/react-native';

delete globalThis.TextDecoder;
const browserFetch = globalThis.fetch;
window.fetched = [];
globalThis.fetch = async (url, init) => {
  window.fetched.push(new URL(url).pathname);
  const { ok, status, headers, text, json } = await browserFetch(url, init).then(async (response) => {
    const body = await response.text();
    return { ok: response.ok, status: response.status, headers: response.headers, text: async () => body, json: async () => JSON.parse(body) };
  });
  return { ok, status, headers, text, json, body: undefined };
};
window.device = await openDevice({ url: location.hash.slice(1), pageObjects: 100, platform: phonePlatform() });
document.body.setAttribute('data-ready', '');
`;

let app: BuiltApp;
const browser = useBrowser();

beforeAll(async () => {
  app = await startBuiltApp({ folder: 'react-native', code: () => APP, body: '<main>App</main>' });
  await app.admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
});

afterAll(() => app.close());

it('[PHONE-1] without streams and TextDecoder, a device gets a snapshot and then changes as they happen, by XMLHttpRequest', async () => {
  await makeUser(app.server, 'ada');
  const objects = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`o${at}`, { name: `é😀 ${at}` }]));
  await app.admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects });
  const page = await browser.openPage(`${app.url}/#${app.server.url}`);
  await page.locator('body[data-ready]').waitFor();
  await page.evaluate(`device.signIn({ login: 'ada', password: '${USER_PASSWORD}' }).then(() => device.sync())`);
  expect(await page.evaluate(`device.source('Order').get('o2999').attributes`)).toEqual({ name: 'é😀 2999' });
  await page.waitForFunction('device.status.getSnapshot().isLive');
  const pulls = await page.evaluate(`fetched.filter((path) => path.endsWith('/pull')).length`);
  await app.admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { o1: { name: 'new é😀' } } });
  await page.waitForFunction(`device.source('Order').get('o1').attributes.name === 'new é😀'`);
  expect(await page.evaluate(`fetched.filter((path) => path.endsWith('/pull')).length`)).toBe(pulls);
  expect(await page.evaluate(`fetched.filter((path) => /events|snapshot/.test(path))`)).toEqual([]);
});

/** A request whose answer the test gives. */
class ScriptedXhr implements XhrLike {
  static made: ScriptedXhr[] = [];
  readonly sent: string[] = [];
  readyState = 0;
  status = 0;
  responseText = '';
  isAborted = false;
  answerHeaders: Readonly<Record<string, string>> = {};
  onreadystatechange: (() => void) | null = null;
  onprogress: (() => void) | null = null;
  onload: (() => void) | null = null;
  onerror: (() => void) | null = null;
  ontimeout: (() => void) | null = null;
  onabort: (() => void) | null = null;

  constructor() {
    ScriptedXhr.made.push(this);
  }

  open(method: string, url: string): void {
    this.sent.push(`${method} ${url}`);
  }

  setRequestHeader(name: string, value: string): void {
    this.sent.push(`${name}: ${value}`);
  }

  getResponseHeader(name: string): string | null {
    return this.answerHeaders[name] ?? null;
  }

  send(): void {
    this.sent.push('send');
  }

  abort(): void {
    if (this.isAborted) return;
    this.isAborted = true;
    this.onabort?.();
  }

  begin(status: number): void {
    this.status = status;
    this.readyState = 2;
    this.onreadystatechange?.();
  }

  give(text: string): void {
    this.responseText += text;
    this.readyState = 3;
    this.onreadystatechange?.();
    this.onprogress?.();
  }

  end(): void {
    this.readyState = 4;
    this.onreadystatechange?.();
    this.onload?.();
  }

  fail(): void {
    this.status = 0;
    this.readyState = 4;
    this.onreadystatechange?.();
    this.onerror?.();
  }
}

interface Opened {
  readonly xhr: ScriptedXhr;
  readonly response: Promise<Response & { readonly texts: AsyncIterable<string> }>;
}

function open(init: RequestInit = {}): Opened {
  const fetch = streamingFetch({
    fetch: () => Promise.reject(new Error('not by fetch')),
    XMLHttpRequest: ScriptedXhr,
  });
  const headers = { accept: 'text/event-stream', authorization: 'Bearer t' };
  const response = fetch('http://tidemark.test/events', { headers, ...init });
  const xhr = ScriptedXhr.made.at(-1);
  if (xhr === undefined) throw new Error('no request was made');
  return { xhr, response: response as Opened['response'] };
}

it('[PHONE-2] a stream is handed over as it arrives, with its status and headers, and its request ends with the reader', async () => {
  const { xhr, response } = open();
  expect(xhr.sent).toEqual([
    'GET http://tidemark.test/events',
    'accept: text/event-stream',
    'authorization: Bearer t',
    'send',
  ]);
  xhr.answerHeaders = { 'retry-after': '7' };
  xhr.begin(200);
  const { ok, status, headers, body, texts } = await response;
  expect([ok, status, headers.get('retry-after'), body]).toEqual([true, 200, '7', null]);
  const reader = texts[Symbol.asyncIterator]();
  xhr.give('one\ntw');
  expect(await reader.next()).toEqual({ done: false, value: 'one\ntw' });
  const waiting = reader.next();
  xhr.give('o\n');
  expect(await waiting).toEqual({ done: false, value: 'o\n' });
  await reader.return?.();
  expect(xhr.isAborted).toBe(true);
});

it('[PHONE-2] a complete stream ends for its reader, with all that has come', async () => {
  const { xhr, response } = open();
  xhr.begin(200);
  xhr.give('one\n');
  xhr.responseText += 'two\n';
  xhr.end();
  expect(await (await response).text()).toBe('one\ntwo\n');
});

it('[PHONE-3] a refusal is an answer whose text can be read', async () => {
  const { xhr, response } = open();
  xhr.begin(401);
  xhr.give('{"code":"sign_in_required"}');
  xhr.end();
  const refusal = await response;
  expect([refusal.ok, refusal.status, await refusal.json()]).toEqual([false, 401, { code: 'sign_in_required' }]);
});

it('[PHONE-3] a connection that fails rejects, before the answer and in the middle of it', async () => {
  const before = open();
  before.xhr.fail();
  await expect(before.response).rejects.toThrow('the connection failed');
  const later = open();
  later.xhr.begin(200);
  const { texts } = await later.response;
  later.xhr.give('one\n');
  later.xhr.fail();
  const reader = texts[Symbol.asyncIterator]();
  expect(await reader.next()).toEqual({ done: false, value: 'one\n' });
  await expect(reader.next()).rejects.toThrow('the connection failed');
  const slow = open();
  slow.xhr.ontimeout?.();
  await expect(slow.response).rejects.toThrow('the connection failed');
});

it('[PHONE-3] a signal that is aborted after the end of a stream does not reach its request', async () => {
  const controller = new AbortController();
  const { xhr, response } = open({ signal: controller.signal });
  xhr.begin(200);
  await response;
  xhr.end();
  controller.abort();
  expect(xhr.isAborted).toBe(false);
});

it('[PHONE-4] a snapshot is a stream as well as events are', async () => {
  const { xhr, response } = open({ headers: { accept: 'application/x-ndjson' } });
  xhr.begin(200);
  xhr.give('{}\n');
  xhr.end();
  expect(await (await response).text()).toBe('{}\n');
});

it('[PHONE-3] an aborted request rejects with the reason and is ended, before it is sent, before the answer and in the middle of it', async () => {
  const reason = new Error('signed out');
  const early = open({ signal: AbortSignal.abort(reason) });
  await expect(early.response).rejects.toBe(reason);
  expect(early.xhr.sent).toEqual([]);

  const controller = new AbortController();
  const before = open({ signal: controller.signal });
  const later = open({ signal: controller.signal });
  later.xhr.begin(200);
  const reader = (await later.response).texts[Symbol.asyncIterator]();
  const waiting = reader.next();
  controller.abort(reason);
  await expect(before.response).rejects.toBe(reason);
  await expect(waiting).rejects.toBe(reason);
  expect([before.xhr.isAborted, later.xhr.isAborted]).toEqual([true, true]);
});

it('[PHONE-4] a stream ends behind a line before the text that the request holds is too long', async () => {
  const { xhr, response } = open();
  xhr.begin(200);
  const { texts } = await response;
  const line = `${'x'.repeat(STREAM_UNITS_MAX / 2)}\n`;
  xhr.give(line.slice(0, -1));
  xhr.give(line.slice(0, -1));
  // Without a line the device would ask for the same again.
  expect(xhr.isAborted).toBe(false);
  xhr.give('\nrest');
  expect(xhr.isAborted).toBe(true);
  let units = 0;
  for await (const text of texts) units += text.length;
  expect(units).toBe(STREAM_UNITS_MAX + 5);
});

it('[PHONE-4] other requests are made by the fetch of the platform', async () => {
  const asked: unknown[] = [];
  const fetch = streamingFetch({
    fetch: async (...args) => {
      asked.push(args);
      return new Response('{}');
    },
    XMLHttpRequest: ScriptedXhr,
  });
  const made = ScriptedXhr.made.length;
  const init = { method: 'POST', headers: { accept: 'application/json' }, body: '{}' };
  expect(await (await fetch('http://tidemark.test/pull', init)).text()).toBe('{}');
  expect([asked, ScriptedXhr.made.length]).toEqual([[['http://tidemark.test/pull', init]], made]);
});
