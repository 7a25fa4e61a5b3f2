import { Tidemark } from '@tidemark/core';
import {
  DEFAULT_LIMITS,
  type PartialError,
  REFRESH_AWAIT_MS_MAX,
  REFRESH_QUEUED_MS,
  Refusal,
} from '@tidemark/protocol';
import {
  newTidemark,
  openMemoryJobs,
  openMemoryStore,
  refusalOf,
  seededRandom,
  settableClock,
  weakPasswords,
} from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { type Adapter, AdapterRefusal, LoggedFailure, type ObjectsAnswer } from '../ports/adapter.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import type { Store } from '../ports/store.ts';

const SOURCE = { source: 'Stock' };
/** Turns of the event loop that the memory store needs at most for some calls. */
const TURNS = 1_000;

/** A backend that answers what the test sets, and counts queries. */
class Backend implements Adapter {
  objects: Record<string, Record<string, unknown>> = {};
  queries: { source: string; user: string | null }[] = [];
  answer: () => Promise<ObjectsAnswer> = async () => ({ objects: this.objects });

  query(call: { source: string; user: string | null }): Promise<ObjectsAnswer> {
    this.queries.push(call);
    return this.answer();
  }

  create = async () => '1';
  update = async () => undefined;
  delete = async () => undefined;

  /** Answers with a text in pieces. */
  inText(text: string, size = 10): void {
    this.answer = async () => ({
      chunks: (async function* () {
        for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
      })(),
    });
  }
}

async function setUp(attributes: Record<string, unknown> = {}, options: Parameters<typeof newTidemark>[0] = {}) {
  const backend = new Backend();
  const adapters = { find: (name: string) => (name === 'backend' ? backend : null) };
  const fixture = await newTidemark({ ...options, adapters });
  const { tidemark } = fixture;
  await tidemark.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend', ...attributes });
  const committed: string[] = [];
  tidemark.events.on('committed', ({ partition, cause }) => committed.push(`${partition.source}:${cause}`));
  const md = async () => Object.fromEntries(await tidemark.objects.read(SOURCE));
  return { ...fixture, backend, adapters, committed, md };
}

async function errorsOf(fixture: Awaited<ReturnType<typeof setUp>>) {
  const view = await fixture.tidemark.documents.read({ kind: 'shared', source: 'Stock' }, 'errors');
  if (view.type !== 'objects') throw new Error('not objects');
  return Object.fromEntries([...view.objects].map(([id, text]) => [id, JSON.parse(text) as PartialError]));
}

describe('a refresh', () => {
  it('[FRESH-4] a refresh makes md equal to the answer, and commits nothing when they are equal already', async () => {
    const { tidemark, backend, committed, md } = await setUp({ poll_interval: 0 });
    backend.objects = { '1': { name: 'one' }, '2': { name: 'two' } };
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(await md()).toEqual(backend.objects);
    expect(backend.queries).toEqual([{ source: 'Stock', user: null }]);
    const { head } = await tidemark.objects.partition(SOURCE);
    await tidemark.refresher.ensureFresh(SOURCE);
    expect((await tidemark.objects.partition(SOURCE)).head).toBe(head);
    backend.objects = { '2': { name: 'zwei' }, '3': { name: 'three' } };
    await tidemark.refresher.ensureFresh(SOURCE);
    expect(await md()).toEqual(backend.objects);
    expect(committed).toEqual(['Stock:refresh', 'Stock:refresh']);
    expect(backend.queries.length).toBe(3);
  });

  it('[FRESH-4] a refresh makes md equal to an answer that arrives as text, in any spelling', async () => {
    const { tidemark, backend, md } = await setUp({ poll_interval: 0 });
    const objects = { '1': { name: 'öne', list: [1, { b: 1, a: 2 }] }, 'a"b': { n: -0.5 }, '3': {} };
    const expected = { '1': objects['1'], 'a"b': objects['a"b'] };
    for (const text of [JSON.stringify(objects), JSON.stringify(objects, null, 2), JSON.stringify(objects)]) {
      backend.inText(text, 3);
      expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
      expect(await md()).toEqual(expected);
      expect((await tidemark.objects.partition(SOURCE)).head).toBe(2);
    }
    backend.inText('{"1":{"name":"eins"}}');
    await tidemark.refresher.ensureFresh(SOURCE);
    expect(await md()).toEqual({ '1': { name: 'eins' } });
    backend.inText('{}');
    await tidemark.refresher.ensureFresh(SOURCE);
    expect(await md()).toEqual({});
  });

  it('[FRESH-1] a partition is refreshed when it is due, for each user separately', async () => {
    const { tidemark, backend, clock } = await setUp();
    await tidemark.sources.declare({ name: 'Task', adapter: 'backend', poll_interval: 60 });
    for (const user_id of ['ada', 'bob', 'ada', 'bob'])
      await tidemark.refresher.ensureFresh({ source: 'Task', user_id });
    expect(backend.queries).toEqual([
      { source: 'Task', user: 'ada' },
      { source: 'Task', user: 'bob' },
    ]);
    clock.advance(60_000);
    await tidemark.refresher.ensureFresh({ source: 'Task', user_id: 'ada' });
    expect(backend.queries.length).toBe(3);
  });

  it('[FRESH-2] a partition is refreshed once when read_state asks for it', async () => {
    const { tidemark, backend, clock } = await setUp({ poll_interval: -1 });
    const ask = () => tidemark.refresher.ensureFresh(SOURCE);
    await ask();
    expect(backend.queries.length).toBe(0);
    await tidemark.sources.refreshTimes.set('Stock', 'ada');
    await ask();
    await ask();
    expect(backend.queries.length).toBe(1);
    await tidemark.sources.refreshTimes.set('Stock', 'ada', 30);
    await ask();
    expect(backend.queries.length).toBe(1);
    clock.advance(30_000);
    await ask();
    await ask();
    expect(backend.queries.length).toBe(2);
  });

  it('[FRESH-2] a refresh that read_state asks for while a query runs causes another query', async () => {
    const { tidemark, backend } = await setUp({ poll_interval: -1 });
    await tidemark.sources.refreshTimes.set('Stock', 'ada');
    backend.answer = async () => {
      if (backend.queries.length === 1) await tidemark.sources.refreshTimes.set('Stock', 'ada');
      return { objects: {} };
    };
    for (let count = 0; count < 3; count++) await tidemark.refresher.ensureFresh(SOURCE);
    expect(backend.queries.length).toBe(2);
  });

  it('[FRESH-17] refreshes that are asked for while a query runs share one query that begins after it', async () => {
    const { tidemark, backend, md } = await setUp({ poll_interval: -1 });
    const { refresher } = tidemark;
    const later: Promise<PartialError | null>[] = [];
    backend.answer = async () => {
      const objects = { '1': { query: backend.queries.length } };
      // The first query has read the data of the backend when the others ask.
      if (backend.queries.length === 1) later.push(refresher.refresh(SOURCE), refresher.refresh(SOURCE));
      return { objects };
    };
    expect(await refresher.refresh(SOURCE)).toBeNull();
    expect(later.length).toBe(2);
    expect(await Promise.all(later)).toEqual([null, null]);
    expect([backend.queries.length, await md()]).toEqual([2, { '1': { query: 2 } }]);
    await refresher.refresh(SOURCE);
    expect(backend.queries.length).toBe(3);
  });

  it('[FRESH-17] a pull waits for the query that runs and not for the one that follows it', async () => {
    const { tidemark, backend } = await setUp({ poll_interval: 0 });
    const { refresher } = tidemark;
    let pulled = refresher.ensureFresh(SOURCE);
    let later = pulled;
    let answerSecond = (): void => undefined;
    const second = new Promise<void>((resolve) => {
      answerSecond = resolve;
    });
    backend.answer = async () => {
      if (backend.queries.length === 1) {
        later = refresher.refresh(SOURCE);
        pulled = refresher.ensureFresh(SOURCE);
      } else await second;
      return { objects: {} };
    };
    await pulled;
    expect(await pulled).toBeNull();
    answerSecond();
    expect([await later, backend.queries.length]).toEqual([null, 2]);
  });

  it('[FRESH-5] many devices that pull one partition at once cause one query', async () => {
    const { tidemark, backend, md } = await setUp({ poll_interval: 0 });
    backend.objects = { '1': { a: 1 } };
    const troubles = await Promise.all(Array.from({ length: 200 }, () => tidemark.refresher.ensureFresh(SOURCE)));
    expect(new Set(troubles)).toEqual(new Set([null]));
    expect(backend.queries.length).toBe(1);
    expect(await md()).toEqual(backend.objects);
  });

  it('[FRESH-5] servers on one store query once, and the lease of a server that died ends', async () => {
    const store = openMemoryStore({ random: seededRandom(3) });
    const one = await setUp({ poll_interval: 0 }, { store });
    const two = new Tidemark({
      store,
      clock: one.clock,
      random: seededRandom(4),
      passwords: weakPasswords(seededRandom(4)),
      log: one.log,
      adapters: one.adapters,
    });
    let release: () => void = () => undefined;
    one.backend.answer = () =>
      new Promise((resolve) => {
        release = () => resolve({ objects: { late: { a: 1 } } });
      });
    const first = one.tidemark.refresher.ensureFresh(SOURCE);
    while (one.backend.queries.length === 0) await Promise.resolve();
    expect(await two.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(one.backend.queries.length).toBe(1);

    // The first server is slower than its lease: the other one takes over, and the first answer is not written.
    const releaseFirst = release;
    one.clock.advance(10 * 60_000);
    one.backend.answer = async () => ({ objects: { fresh: { a: 2 } } });
    expect(await two.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(await one.md()).toEqual({ fresh: { a: 2 } });
    releaseFirst();
    expect(await first).toBeNull();
    expect(await one.md()).toEqual({ fresh: { a: 2 } });
    expect(one.backend.queries.length).toBe(2);
  });

  /** A second server on the same store, whose waits the test controls. */
  async function besides(wait: (ms: number) => Promise<void>, gone: Set<string> = new Set()) {
    const store = openMemoryStore({ random: seededRandom(3) });
    const isGone = (id: string) => gone.has(id);
    const one = await setUp({ poll_interval: 0 }, { store, server: { id: 'one', isGone } });
    const two = new Tidemark({
      ...{ store, clock: one.clock, log: one.log, adapters: one.adapters, wait, server: { id: 'two', isGone } },
      ...{ random: seededRandom(4), passwords: weakPasswords(seededRandom(4)) },
    });
    let release: () => void = () => undefined;
    one.backend.answer = () =>
      new Promise((resolve) => {
        release = () => resolve({ objects: { 1: { a: one.backend.queries.length } } });
      });
    const first = one.tidemark.refresher.ensureFresh(SOURCE);
    while (one.backend.queries.length === 0) await Promise.resolve();
    return { ...one, two, first, release: () => release() };
  }

  it('[MANY-7] a pull waits for the refresh of another server', async () => {
    let looks = 0;
    const fixture = await besides(async () => {
      if (++looks < 3) return;
      fixture.release();
      await fixture.first;
    });
    expect(await fixture.two.refresher.ensureFresh(SOURCE)).toBeNull();
    expect([await fixture.md(), fixture.backend.queries.length]).toEqual([{ 1: { a: 1 } }, 1]);
  });

  it('[MANY-7] a pull waits for the refresh of another server for a bounded time, and only once for each lease', async () => {
    let waitedMs = 0;
    const fixture = await besides(async (ms) => {
      waitedMs += ms;
      fixture.clock.advance(ms);
    });
    expect((await fixture.two.refresher.ensureFresh(SOURCE))?.code).toBe('refresh_pending');
    expect(waitedMs).toBe(REFRESH_AWAIT_MS_MAX);
    expect((await fixture.two.refresher.ensureFresh(SOURCE))?.code).toBe('refresh_pending');
    expect([waitedMs, await fixture.md()]).toEqual([REFRESH_AWAIT_MS_MAX, {}]);
    fixture.release();
    await fixture.first;
  });

  it('[FRESH-17] a refresh that is asked for while another server queries asks the backend again', async () => {
    const fixture = await besides(async () => {
      fixture.release();
      await fixture.first;
      fixture.backend.answer = async () => ({ objects: { 1: { a: 'new' } } });
    });
    expect(await fixture.two.refresher.refresh(SOURCE)).toBeNull();
    expect([await fixture.md(), fixture.backend.queries.length]).toEqual([{ 1: { a: 'new' } }, 2]);
  });

  it('[MANY-13] another server queries when the one with the lease has died, and the late answer is not written', async () => {
    const gone = new Set<string>();
    const fixture = await besides(async () => void gone.add('one'), gone);
    const releaseFirst = fixture.release;
    fixture.backend.answer = async () => ({ objects: { fresh: { a: 2 } } });
    expect(await fixture.two.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(await fixture.md()).toEqual({ fresh: { a: 2 } });
    releaseFirst();
    expect(await fixture.first).toBeNull();
    expect(await fixture.md()).toEqual({ fresh: { a: 2 } });
  });

  /** A store whose writes of entries fail while `isAway`: they are lost, or they happen and their reply is lost. */
  function unreliable(store: Store) {
    const control = { isAway: false, doesWrite: false };
    const writeEntries: Store['writeEntries'] = async (batch) => {
      if (!control.isAway) return store.writeEntries(batch);
      if (control.doesWrite) await store.writeEntries(batch);
      throw new Refusal('store_unavailable', 'the store does not serve', [], 1);
    };
    const changed = new Proxy(store, {
      get(target, name) {
        const member: unknown = name === 'writeEntries' ? writeEntries : Reflect.get(target, name);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
    return { control, store: changed };
  }

  it.each([
    ['the end', 'is lost', false],
    ['the beginning', 'happens without a reply', true],
  ])(
    '[MANY-24] a server queries again at once when %s of its own refresh %s because the store was away',
    async (_moment, _what, doesWrite) => {
      const { control, store } = unreliable(openMemoryStore({ random: seededRandom(3) }));
      const fixture = await setUp({ poll_interval: 0 }, { store, server: { id: 'one', isGone: () => false } });
      const { backend, tidemark, md } = fixture;
      control.doesWrite = doesWrite;
      control.isAway = doesWrite;
      backend.answer = async () => {
        control.isAway = true;
        return { objects: { 1: { a: 1 } } };
      };
      expect(await refusalOf(tidemark.refresher.ensureFresh(SOURCE))).toBe('store_unavailable');
      control.isAway = false;
      backend.answer = async () => ({ objects: { 1: { a: 2 } } });
      expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
      expect([await md(), backend.queries.length]).toEqual([{ 1: { a: 2 } }, doesWrite ? 1 : 2]);
    },
  );

  it('[MANY-24] a lease that a server could not end because the store was away is ended when the store is back, for all servers', async () => {
    const { control, store } = unreliable(openMemoryStore({ random: seededRandom(3) }));
    const waiting: (() => void)[] = [];
    const wait = () => new Promise<void>((resolve) => void waiting.push(resolve));
    const isGone = () => false;
    const one = await setUp({ poll_interval: 0 }, { store, wait, server: { id: 'one', isGone } });
    one.backend.answer = async () => {
      control.isAway = true;
      return { objects: { 1: { a: 1 } } };
    };
    expect(await refusalOf(one.tidemark.refresher.ensureFresh(SOURCE))).toBe('store_unavailable');
    const two = new Tidemark({
      ...{ store, clock: one.clock, log: one.log, adapters: one.adapters, server: { id: 'two', isGone } },
      ...{ random: seededRandom(4), passwords: weakPasswords(seededRandom(4)) },
    });
    one.backend.answer = async () => ({ objects: { 1: { a: 2 } } });
    // It fails once more, and succeeds when the store is back.
    for (const isAway of [true, false]) {
      control.isAway = isAway;
      expect(one.backend.queries.length).toBe(1);
      for (const end of waiting.splice(0)) end();
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
    }
    expect(await two.refresher.ensureFresh(SOURCE)).toBeNull();
    expect([await one.md(), one.backend.queries.length]).toEqual([{ 1: { a: 2 } }, 2]);
  });

  it('[MANY-24] ending a lease that was left because the store was away does not disturb a refresh that has begun since', async () => {
    const { control, store } = unreliable(openMemoryStore({ random: seededRandom(3) }));
    const waiting: (() => void)[] = [];
    const wait = () => new Promise<void>((resolve) => void waiting.push(resolve));
    const server = { id: 'one', isGone: () => false };
    const { backend, tidemark, md } = await setUp({ poll_interval: 0 }, { store, wait, server });
    backend.answer = async () => {
      control.isAway = true;
      return { objects: { 1: { a: 1 } } };
    };
    expect(await refusalOf(tidemark.refresher.ensureFresh(SOURCE))).toBe('store_unavailable');
    control.isAway = false;
    const left = waiting.splice(0);
    backend.answer = async () => {
      for (const end of left) end();
      for (let turn = 0; turn < TURNS; turn++) await Promise.resolve();
      return { objects: { 1: { a: 2 } } };
    };
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
    expect([await md(), backend.queries.length]).toEqual([{ 1: { a: 2 } }, 2]);
  });

  it('[WRITE-9] a refresh does not undo what was committed while its query ran', async () => {
    const { tidemark, backend, md } = await setUp({ poll_interval: 0 });
    await tidemark.objects.push({ ...SOURCE, objects: { kept: { a: 1 }, changed: { a: 1 }, deleted: { a: 1 } } });
    backend.answer = async () => {
      await tidemark.objects.push({ ...SOURCE, objects: { changed: { a: 2 }, pushed: { a: 2 } } });
      await tidemark.objects.pushDeletes({ ...SOURCE, objects: ['deleted'] });
      return { objects: { kept: { a: 0 }, changed: { a: 1 }, deleted: { a: 1 } } };
    };
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(await md()).toEqual({ kept: { a: 0 }, changed: { a: 2 }, pushed: { a: 2 } });
  });
});

describe('invalid answers', () => {
  const BAD: readonly (readonly [string, unknown])[] = [
    ['a list instead of objects', []],
    ['a text instead of objects', 'no'],
    ['null instead of objects', null],
    ['a number instead of an object', { '1': 7 }],
    ['an illegal name', { '1': { a: 1 }, '': { a: 1 } }],
    ['an unsafe number', { '1': { a: 2 ** 60 } }],
    ['broken Unicode', { '1': { a: '\ud800' } }],
  ];

  it.each(BAD)(
    '[FRESH-6] an answer with %s changes nothing and is reported, as a value and as text',
    async (_name, value) => {
      const fixture = await setUp({ poll_interval: 0 });
      const { tidemark, backend, md, clock } = fixture;
      backend.objects = { '1': { a: 1 } };
      await tidemark.refresher.ensureFresh(SOURCE);
      for (const isText of [false, true]) {
        if (isText) backend.inText(JSON.stringify(value));
        else backend.answer = async () => ({ objects: value });
        clock.advance(3_600_000);
        const trouble = await tidemark.refresher.ensureFresh(SOURCE);
        expect(trouble).toMatchObject({ code: 'backend_error', detail: expect.stringContaining('not usable') });
        expect(await md()).toEqual({ '1': { a: 1 } });
        expect((await errorsOf(fixture)).query).toMatchObject({ code: 'backend_error' });
      }
    },
  );

  it('[FRESH-6] an answer that is cut off, has an object twice, or is too long changes nothing and is reported', async () => {
    const limits = { answerObjectsMax: 2, answerUnitsMax: 60 };
    const { tidemark, backend, md, clock } = await setUp({ poll_interval: 0 }, { limits });
    const whole = '{"1":{"a":1},"2":{"a":1}}';
    backend.inText(whole);
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
    for (const text of [
      whole.slice(0, -1),
      '{"1":{"a":1},"1":{"a":2}}',
      '{"1":{"a":1},"2":{"a":1},"3":{"a":1}}',
      `{"1":{"a":"${'x'.repeat(60)}"}}`,
      '{"1":{"a":1,}}',
      '<html>',
    ]) {
      backend.inText(text);
      clock.advance(3_600_000);
      expect((await tidemark.refresher.ensureFresh(SOURCE))?.code).toBe('backend_error');
      expect(await md()).toEqual(JSON.parse(whole));
    }
    expect(DEFAULT_LIMITS.answerObjectsMax).toBeGreaterThanOrEqual(100_000);
  });

  it('[FRESH-6] an answer whose stream fails is reported with the error of the stream', async () => {
    const { tidemark, backend, md } = await setUp({ poll_interval: 0 });
    backend.answer = async () => ({
      chunks: (async function* () {
        yield '{"1":{"a":1},';
        throw new Refusal('backend_timeout', 'too slow');
      })(),
    });
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual({ code: 'backend_timeout', detail: 'too slow' });
    expect(await md()).toEqual({});
  });
});

describe('a backend that fails', () => {
  it('[FRESH-3] a failing backend is not queried during the back-off, devices get the error meanwhile, and a success clears it', async () => {
    const fixture = await setUp({ poll_interval: 0 });
    const { tidemark, backend, clock, log } = fixture;
    backend.answer = () => Promise.reject(new Refusal('backend_unavailable', 'nobody there', [], 7));
    const trouble = { code: 'backend_unavailable', detail: 'nobody there' };
    for (let count = 0; count < 3; count++) expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual(trouble);
    expect(backend.queries.length).toBe(1);
    expect(await errorsOf(fixture)).toEqual({
      query: { ...trouble, failures: 1, retry_at: '2023-11-14T22:13:27.000Z' },
    });
    clock.advance(6_999);
    await tidemark.refresher.ensureFresh(SOURCE);
    expect(backend.queries.length).toBe(1);
    clock.advance(1);
    await tidemark.refresher.ensureFresh(SOURCE);
    expect(backend.queries.length).toBe(2);
    expect((await errorsOf(fixture)).query).toMatchObject({ failures: 2 });

    backend.answer = async () => ({ objects: { '1': { a: 1 } } });
    clock.advance(300_000);
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
    expect(await errorsOf(fixture)).toEqual({});
    expect(await tidemark.stats.names('sources:*:Stock')).toEqual([
      'sources:query:Stock',
      'sources:query_failed:Stock',
    ]);
    expect(log.lines.filter(({ event }) => event === 'refresh_failed').length).toBe(2);
  });

  it.each([
    ['as a value', { '1': {}, '2': 'x' }],
    ['as text', { '1': {}, '2': 'x' }],
  ])(
    '[ANSWER-4] an object that is a string is named by its id and the rule it breaks, given %s',
    async (how, objects) => {
      const { tidemark, backend, log } = await setUp({ poll_interval: 0 });
      if (how === 'as text') backend.inText(JSON.stringify(objects));
      else backend.answer = async () => ({ objects });
      const detail = 'the answer is not usable: object "2": expected an object of attributes, got a string';
      expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual({ code: 'backend_error', detail });
      expect(log.lines.map(({ level, event, fields }) => [level, event, fields.reason])).toEqual([
        ['warn', 'refresh_failed', detail],
      ]);
    },
  );

  it('[FRESH-13] a failure that the adapter has logged itself is not logged again', async () => {
    const { tidemark, backend, log } = await setUp({ poll_interval: 0 });
    backend.answer = () => Promise.reject(new LoggedFailure(new Refusal('backend_error', 'the backend answered 500')));
    expect((await tidemark.refresher.ensureFresh(SOURCE))?.detail).toBe('the backend answered 500');
    expect(log.lines.map(({ level }) => level)).toEqual(['debug']);
  });

  it('[FRESH-7] the message of an error that a query throws is logged and not sent to devices', async () => {
    const { tidemark, backend, log, clock } = await setUp({ poll_interval: 0 });
    backend.answer = () => Promise.reject(new Error('password of the database: hunter2'));
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual({
      code: 'backend_error',
      detail: 'the adapter of the source failed',
    });
    expect(log.lines.at(-1)?.fields.reason).toContain('hunter2');
    clock.advance(3_600_000);
    backend.answer = () => Promise.reject(new AdapterRefusal('rejected', 'not today'));
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual({ code: 'backend_error', detail: 'not today' });
  });

  it('[FRESH-8] a source whose adapter is missing reports it, and a source without an adapter is never refreshed', async () => {
    const { tidemark, backend } = await setUp();
    await tidemark.sources.declare({ name: 'Lost', partition_type: 'app', adapter: 'nowhere', poll_interval: 0 });
    expect((await tidemark.refresher.ensureFresh({ source: 'Lost' }))?.code).toBe('backend_unavailable');
    await tidemark.sources.refreshTimes.set('Product', 'ada');
    expect(await tidemark.refresher.ensureFresh({ source: 'Product' })).toBeNull();
    expect(backend.queries).toEqual([]);
    expect(await refusalOf(tidemark.refresher.ensureFresh({ source: 'None' }))).toBe('source_not_found');
  });

  it('[FRESH-9] deleting a user or source removes its refresh state', async () => {
    const { tidemark, backend, store } = await setUp({ poll_interval: 0 });
    await tidemark.sources.declare({ name: 'Task', adapter: 'backend', poll_interval: 0 });
    const settings = async () => (await store.listEntries({ kind: 'setting', prefix: ['refresh'], limit: 99 })).length;
    await tidemark.refresher.ensureFresh(SOURCE);
    await tidemark.refresher.ensureFresh({ source: 'Task', user_id: 'ada' });
    expect(await settings()).toBe(2);
    await tidemark.users.delete('ada');
    expect(await settings()).toBe(1);
    backend.answer = async () => {
      await tidemark.sources.drop('Stock');
      return { objects: { '1': { a: 1 } } };
    };
    expect((await tidemark.refresher.ensureFresh(SOURCE))?.code).toBe('source_not_found');
    expect(await settings()).toBe(0);
  });
});

describe('a source with a queue', () => {
  async function setUpQueue(attributes: Record<string, unknown>) {
    const clock = settableClock();
    const jobs = openMemoryJobs({ clock });
    const fixture = await setUp({ poll_interval: 0, ...attributes }, { jobs, clock });
    const run = async (queue: string) => {
      const job = (await jobs.lease(queue, 1_000)) as LeasedJob;
      await fixture.tidemark.refresher.handler(job, () => new AbortController().signal);
      await jobs.acknowledge(job);
    };
    return { ...fixture, jobs, run };
  }

  it('[FRESH-10] a source with a queue is refreshed by one job, and devices get the stored objects until then', async () => {
    for (const [attributes, queue] of [
      [{ queue: 'slow' }, 'slow'],
      [{ queue: 'slow', query_queue: 'slower' }, 'slower'],
    ] as const) {
      const { tidemark, backend, jobs, run, md, committed, clock } = await setUpQueue(attributes);
      backend.objects = { '1': { a: 1 } };
      for (let count = 0; count < 5; count++) expect(await tidemark.refresher.ensureFresh(SOURCE)).toBeNull();
      expect([backend.queries.length, (await jobs.describe(queue)).counts.due]).toEqual([0, 1]);
      await run(queue);
      expect([await md(), committed]).toEqual([backend.objects, ['Stock:refresh']]);
      clock.advance(1);
      await tidemark.refresher.ensureFresh(SOURCE);
      expect((await jobs.describe(queue)).counts.due).toBe(1);
    }
  });

  it('[FRESH-10] a refresh job that fails is retried by its queue and reported', async () => {
    const { tidemark, backend, jobs, run } = await setUpQueue({ queue: 'slow' });
    backend.answer = () => Promise.reject(new Refusal('backend_timeout', 'too slow'));
    await tidemark.refresher.ensureFresh(SOURCE);
    await expect(run('slow')).rejects.toMatchObject({ name: 'JobFailure', message: 'too slow', isFinal: false });
    expect(await tidemark.refresher.ensureFresh(SOURCE)).toEqual({ code: 'backend_timeout', detail: 'too slow' });
    expect((await jobs.describe('slow')).counts.due).toBe(0);
  });

  it('[FRESH-10] a lost refresh job is queued again after a while, and a job of a deleted source does nothing', async () => {
    const { tidemark, backend, jobs, run, clock } = await setUpQueue({ queue: 'slow' });
    await tidemark.refresher.ensureFresh(SOURCE);
    clock.advance(REFRESH_QUEUED_MS);
    await tidemark.refresher.ensureFresh(SOURCE);
    expect((await jobs.describe('slow')).counts.due).toBe(2);
    await tidemark.sources.drop('Stock');
    await run('slow');
    expect(backend.queries).toEqual([]);
  });

  /** A second server on the same store and queue. */
  function serverBeside({ store, clock, log, adapters, jobs }: Awaited<ReturnType<typeof setUpQueue>>): Tidemark {
    const random = seededRandom(4);
    return new Tidemark({ store, clock, random, passwords: weakPasswords(random), log, adapters, jobs });
  }

  it('[FRESH-16] a pull at another server does not end the lease of a job that was queued for long', async () => {
    const fixture = await setUpQueue({ queue: 'slow' });
    const { tidemark, backend, jobs, run, md, clock } = fixture;
    const two = serverBeside(fixture);
    await tidemark.refresher.ensureFresh(SOURCE);
    clock.advance(REFRESH_QUEUED_MS + 1);
    backend.answer = async () => {
      expect(await two.refresher.ensureFresh(SOURCE)).toBeNull();
      return { objects: { '1': { a: 1 } } };
    };
    await run('slow');
    expect([await md(), backend.queries.length]).toEqual([{ '1': { a: 1 } }, 1]);
    expect((await jobs.describe('slow')).counts.due).toBe(0);
  });

  it('[FRESH-16] a job whose partition another server is refreshing is retried when that lease has ended', async () => {
    const fixture = await setUpQueue({ queue: 'slow' });
    const { tidemark, backend, run, md } = fixture;
    const two = serverBeside(fixture);
    await tidemark.refresher.ensureFresh(SOURCE);
    let release: () => void = () => undefined;
    backend.answer = () =>
      new Promise((resolve) => {
        release = () => resolve({ objects: { '1': { a: 1 } } });
      });
    const first = two.refresher.refresh(SOURCE);
    while (backend.queries.length === 0) await Promise.resolve();
    await expect(run('slow')).rejects.toMatchObject({ name: 'JobFailure', retryAfterMs: 120_000, isFinal: false });
    release();
    await first;
    expect(await md()).toEqual({ '1': { a: 1 } });
  });
});
