import { type Page, RECEIPT_ACTIVE_MS, type Upload } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { reasonOfDelay } from '../connectors/connector-reports.ts';
import { pageJson } from '../pages/render-page.ts';
import { userPartition } from '../ports/owner.ts';
import { explain } from './explain.ts';
import type { ExplainFacts } from './explain-facts.ts';

const DEVICE = { user: 'ada', client: 'c1' };
const HOUR_MS = 3_600_000;
const ORDERS = userPartition('Order', 'ada');

let test: TestTidemark;

beforeEach(async () => {
  test = await newTidemark();
  await test.tidemark.clients.register('ada', { client_id: 'c1' });
});

async function pull(token: string | null, objectsMax = 100): Promise<Page> {
  const answer = await test.tidemark.devices.pull(DEVICE, { sources: new Map([['Order', token]]), objectsMax });
  await answer.noted;
  const page = answer.pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('the source has a page');
  return JSON.parse(pageJson(page.token, page.body)) as Page;
}

async function catchUp(token: string | null = null): Promise<string> {
  const page = await pull(token);
  await test.tidemark.devices.acknowledge(DEVICE, new Map([['Order', page.token]]));
  return page.token;
}

const push = (objects: object) => test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
const explained = (object: string) => test.tidemark.delivery.explain('c1', 'Order', object);
const verdict = async (object: string) => (await explained(object)).verdict;

it('[EXPLAIN-1] the verdict follows an object from its push to its deletion', async () => {
  expect(await verdict('1')).toBe('never_existed');
  await push({ 1: { a: 1, b: 1 } });
  const unseen = await explained('1');
  const signedIn = new Date(test.clock.nowMs()).toISOString();
  expect([unseen.verdict, unseen.evidence.last_contact]).toEqual(['never_synced', signedIn]);
  expect(unseen.sentence).toContain(`it was last seen at ${signedIn}`);
  await pull(null);
  expect(await verdict('1')).toBe('unconfirmed');
  let token = await catchUp();
  expect(await explained('1')).toMatchObject({
    verdict: 'current',
    remedy: '',
    evidence: { object_seq: 1, head: 1, acknowledged: 1, catching_up_at: null },
  });
  await push({ 1: { b: 2, c: 1 }, 2: { a: 1 } });
  expect(await explained('1')).toMatchObject({ verdict: 'behind', attributes: ['b', 'c'] });
  expect(await verdict('2')).toBe('pending');
  token = await catchUp(token);
  await test.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['2'] });
  expect(await verdict('2')).toBe('deletion_pending');
  test.clock.advance(RECEIPT_ACTIVE_MS);
  expect(await verdict('2')).toBe('device_away');
  await catchUp(token);
  expect(await verdict('2')).toBe('deleted');
  expect(await verdict('1')).toBe('current');
  await test.store.trim(ORDERS, 100);
  expect(await verdict('2')).toBe('trimmed_or_never_existed');
});

it('[EXPLAIN-2] a device that starts over, or holds another epoch of the source, holds nothing', async () => {
  await push({ 1: { a: 1 }, 2: { a: 1 } });
  const { token } = await pull(null, 1);
  // The progress of a start over is recorded at most once a second.
  test.clock.advance(1_000);
  await test.tidemark.devices.acknowledge(DEVICE, new Map([['Order', token]]));
  expect(await explained('1')).toMatchObject({
    verdict: 'starting_over',
    evidence: { acknowledged: null, catching_up_at: 1 },
  });
  await catchUp();
  const mark = await test.store.readTidemark(ORDERS, 'c1');
  if (mark === null) throw new Error('the device has a tidemark');
  await test.store.noteTidemark(ORDERS, { ...mark, epoch: 'another' }, []);
  expect(await verdict('1')).toBe('other_epoch');
});

const FACTS: ExplainFacts = {
  object: '1',
  source: 'Order',
  stored: undefined,
  state: { epoch: 'e', head: 9, floor: 0, size: 1, checksum: 0 },
  times: [],
  mark: { client: 'c', epoch: 'e', seq: 9, base: 9, start: null, seenAtMs: 1 },
  isInEarlierPartition: false,
  foreignGroup: null,
  group: null,
  wipe: null,
  upload: null,
  refresh: null,
  connector: null,
  missingFiles: [],
  lastContactMs: 1,
  isAway: false,
};
const ERROR = { code: 'backend_error', detail: 'no' } as const;

it.each([
  ['other_partition', { isInEarlierPartition: true }],
  ['other_partition', { foreignGroup: 'north' }],
  ['wiped', { wipe: { orderedAt: 'then', confirmedAt: null } }],
  ['refresh_failing', { refresh: { atMs: 1, trouble: ERROR } }],
  ['not_in_backend', { refresh: { atMs: 1, trouble: null } }],
  ['never_existed', { refresh: { atMs: null, trouble: null } }],
  ['upload_queued', { upload: { status: 'queued', error: null } }],
  ['upload_rejected', { upload: { status: 'rejected', error: ERROR } }],
  ['upload_rejected', { stored: { seq: 3, record: '"1":{}' }, upload: { status: 'conflict', error: ERROR } }],
] as const)('[EXPLAIN-1] the verdict %s is given for its reason, with a sentence', (wanted, over) => {
  const { verdict: found, sentence } = explain({ ...FACTS, ...over });
  expect([found, sentence.endsWith('.')]).toEqual([wanted, true]);
});

it('[EXPLAIN-4] the evidence says since when the device is behind, and when the object changed and was deleted', async () => {
  const timeIn = (ms: number) => {
    test.clock.advance(ms);
    return new Date(Math.floor(test.clock.nowMs() / 1_000) * 1_000).toISOString();
  };
  await push({ 1: { a: 1, b: 1 }, 2: { a: 1 } });
  const token = await catchUp();
  const changedA = timeIn(HOUR_MS);
  await push({ 1: { a: 2 } });
  const changedB = timeIn(HOUR_MS);
  await push({ 1: { b: 2 } });
  const behind = await explained('1');
  expect(behind).toMatchObject({
    ...{ verdict: 'behind', attributes: ['a', 'b'] },
    evidence: { behind_since: changedA, changed_at: changedB },
  });
  expect(behind.sentence).toContain(`which changed at ${changedA}`);
  const deletedAt = timeIn(HOUR_MS);
  await test.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['2'] });
  expect((await explained('2')).sentence).toContain(`was deleted at ${deletedAt}`);
  test.clock.advance(RECEIPT_ACTIVE_MS);
  const { verdict: away, sentence, evidence } = await explained('2');
  expect([away, evidence.behind_since]).toEqual(['device_away', deletedAt]);
  expect(sentence).toContain(`was not seen since ${evidence.last_contact}`);
  await catchUp(token);
  expect(await explained('2')).toMatchObject({
    ...{ verdict: 'deleted', evidence: { behind_since: null, changed_at: deletedAt } },
  });
  expect((await explained('1')).evidence).toMatchObject({ behind_since: null, changed_at: changedB });
});

it('[EXPLAIN-4] a time that is known only roughly is told as two times, and an unknown one not at all', () => {
  const stored = { seq: 3, record: null };
  const times = [{ seq: 2, fromMs: 0, toMs: 7 * HOUR_MS }];
  expect(explain({ ...FACTS, stored, times }).sentence).toContain(
    'was deleted between 1970-01-01T00:00:00.000Z and 1970-01-01T07:00:00.000Z, and',
  );
  expect(explain({ ...FACTS, stored, times: [{ seq: 4, fromMs: 0, toMs: 1 }] })).toMatchObject({
    sentence: 'The object "1" of "Order" was deleted, and the device has acknowledged that.',
    evidence: { changed_at: null, changed_by: null },
  });
});

it('[EXPLAIN-5] a device that synchronised a source while it was empty is not taken for one that never did', async () => {
  const orders = async () => (await test.tidemark.delivery.sync('c1')).find(({ source }) => source === 'Order');
  const receipt = () => test.tidemark.receipts.read({ source: 'Order', user_id: 'ada' });
  await test.tidemark.clients.register('ada', { client_id: 'never' });
  expect(await orders()).toMatchObject({ acknowledged: null, waiting: null, last_pull: null });
  const token = await catchUp();
  expect(await orders()).toMatchObject({ acknowledged: 0, head: 0, waiting: 0 });
  expect((await orders())?.last_pull).not.toBeNull();
  expect(await receipt()).toMatchObject({ devices: 2, delivered: 1, behind: 0, never_synced: 1 });
  expect(await test.tidemark.receipts.isCaughtUp('ada', 'c1', ['Order'])).toBe(true);
  test.clock.advance(HOUR_MS);
  await push({ 1: { a: 1 }, 2: { a: 1 } });
  expect(await verdict('1')).toBe('pending');
  expect(await orders()).toMatchObject({ acknowledged: 0, waiting: 2 });
  expect(await receipt()).toMatchObject({
    ...{ delivered: 0, behind: 1, never_synced: 1 },
    behind_devices: [{ client_id: 'c1', acknowledged: 0, missing: 2 }],
  });
  await catchUp(token);
  expect(await receipt()).toMatchObject({ delivered: 1, behind: 0, never_synced: 1 });
});

it('[EXPLAIN-7] a device that was sent everything and has not confirmed it is unconfirmed, until it presents its token', async () => {
  await push({ 1: { a: 1 }, 2: { a: 1 } });
  const first = await pull(null, 1);
  expect(await explained('1')).toMatchObject({ verdict: 'starting_over', evidence: { sent: null } });
  const last = await pull(first.token, 1);
  const sent = await explained('2');
  expect(sent).toMatchObject({
    ...{ verdict: 'unconfirmed', remedy: 'Wait for its next pull, which confirms it, or ping the device.' },
    evidence: { acknowledged: null, sent: 2, head: 2 },
  });
  expect(sent.sentence).toBe(
    `The device was sent the current state of object "2" of "Order", and has not confirmed that it has stored it; it was last seen at ${sent.evidence.last_contact}.`,
  );
  await test.tidemark.devices.acknowledge(DEVICE, new Map([['Order', last.token]]));
  expect(await explained('2')).toMatchObject({ verdict: 'current', evidence: { acknowledged: 2, sent: null } });
  test.clock.advance(HOUR_MS);
  await push({ 1: { a: 2 } });
  await test.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['2'] });
  expect([await verdict('1'), await verdict('2')]).toEqual(['behind', 'deletion_pending']);
  const { token } = await pull(last.token);
  expect(await explained('1')).toMatchObject({
    ...{ verdict: 'unconfirmed', attributes: ['a'], evidence: { acknowledged: 2, sent: 4 } },
  });
  expect(await verdict('2')).toBe('unconfirmed');
  await push({ 1: { a: 3 } });
  expect(await verdict('1')).toBe('behind');
  await pull(token);
  expect([await verdict('1'), await verdict('2')]).toEqual(['unconfirmed', 'deleted']);
});

it('[EXPLAIN-7] a device that asks for a page of a start over once more has not stored the page that completed it', async () => {
  await push({ 1: { a: 1 }, 2: { a: 1 }, 3: { a: 1 } });
  const { token } = await pull(null, 1);
  await pull(token, 2);
  expect(await explained('3')).toMatchObject({ verdict: 'unconfirmed', evidence: { sent: 3 } });
  await pull(token, 1);
  expect(await explained('3')).toMatchObject({ verdict: 'starting_over', evidence: { sent: null } });
});

it('[EXPLAIN-7] a snapshot that was sent to its end is unconfirmed until the device presents its token', async () => {
  await push(Object.fromEntries(Array.from({ length: 25 }, (_, index) => [String(index), { a: 1 }])));
  const pages = await test.tidemark.devices.snapshot(DEVICE, { source: 'Order', token: null, objectsMax: 10 });
  let token = '';
  for await (const some of pages) token = some.at(-1)?.token ?? '';
  expect(await explained('24')).toMatchObject({ verdict: 'unconfirmed', evidence: { acknowledged: null, sent: 25 } });
  await test.tidemark.devices.acknowledge(DEVICE, new Map([['Order', token]]));
  expect(await verdict('24')).toBe('current');
});

it('[EXPLAIN-8] the last upload of a device counts, whatever its op id: one that was applied hides earlier refusals', async () => {
  const upload = async (opId: string, changes: object) => {
    test.clock.advance(1);
    const change: Upload = { op_id: opId, source: 'Order', op: 'update', id: 'x', ...changes };
    return (await test.tidemark.devices.push(DEVICE, { changes: [change] })).map(({ status }) => status);
  };
  expect(await upload('z', { attributes: { n: 1 } })).toEqual(['conflict']);
  expect(await verdict('x')).toBe('upload_rejected');
  await push({ x: { n: 0 } });
  expect(await upload('m', { attributes: { n: 2 } })).toEqual(['applied']);
  await catchUp();
  expect(await verdict('x')).toBe('current');
  expect(await upload('a', { attributes: { '': 3 } })).toEqual(['rejected']);
  expect(await explained('x')).toMatchObject({
    ...{ verdict: 'upload_rejected', evidence: { upload: { status: 'rejected' } } },
  });
  const [orders] = await test.tidemark.delivery.sync('c1');
  expect(orders?.last_outcomes.map(({ op_id: opId, status }) => [opId, status])).toEqual([
    ['z', 'conflict'],
    ['m', 'applied'],
    ['a', 'rejected'],
  ]);
});

it('[EXPLAIN-8] the last of several uploads in one push counts, also when all are decided in the same millisecond', async () => {
  await push({ x: { n: 0 } });
  await catchUp();
  const upload = (opId: string, attributes: Upload['attributes']): Upload => {
    return { op_id: opId, source: 'Order', op: 'update', id: 'x', ...(attributes === undefined ? {} : { attributes }) };
  };
  const changes = [upload('z', { '': 1 }), upload('m', { n: 1 }), upload('a', { '': 2 }), upload('b', { n: 2 })];
  const outcomes = await test.tidemark.devices.push(DEVICE, { changes });
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'applied', 'rejected', 'applied']);
  expect((await explained('x')).evidence.upload).toBe(null);
  const [orders] = await test.tidemark.delivery.sync('c1');
  expect(orders?.last_outcomes.map(({ op_id: opId }) => opId)).toEqual(['z', 'm', 'a', 'b']);
});

it('[EXPLAIN-9] a device that is to be erased, or has erased itself, holds nothing by any explanation', async () => {
  await push({ 1: { a: 1 } });
  await catchUp();
  const { wipe: ordered } = await test.tidemark.clients.wipes.order('c1', 'root');
  expect(await explained('1')).toMatchObject({
    verdict: 'wiped',
    sentence: `An administrator has ordered at ${ordered?.ordered_at} to erase the device, which has not confirmed that yet, and gets nothing any more.`,
  });
  test.clock.advance(HOUR_MS);
  const wipe = await test.tidemark.clients.wipes.confirm('ada', 'c1', 0);
  expect(await explained('1')).toMatchObject({
    verdict: 'wiped',
    sentence: `The device has erased all its data at ${wipe.confirmed_at}, as an administrator ordered at ${wipe.ordered_at}.`,
    remedy: 'Have its user sign in again: the device then begins as a new one.',
  });
  const sync = await test.tidemark.delivery.sync('c1');
  expect(sync.find(({ source }) => source === 'Order')).toMatchObject({ acknowledged: null, waiting: null });
});

it('[EXPLAIN-3] the next page and the state are read without side effects, and are what the next pull brings', async () => {
  await push({ 1: { a: 1 } });
  const token = await catchUp();
  await push({ 1: { b: 1 }, 2: { a: 1 } });
  const before = await test.store.readTidemark(ORDERS, 'c1');
  const pending = JSON.parse(await test.tidemark.delivery.pending('c1', 'Order')) as Page;
  const sync = await test.tidemark.delivery.sync('c1');
  expect(sync.find(({ source }) => source === 'Order')).toMatchObject({
    ...{ acknowledged: 1, head: 3, waiting: 2, objects: 2, uploads_waiting: 0, error: null, last_outcomes: [] },
    next_page_bytes: JSON.stringify(pending).length,
  });
  expect(sync.find(({ source }) => source === 'Product')).toMatchObject({ acknowledged: 0, waiting: 0 });
  expect(await test.store.readTidemark(ORDERS, 'c1')).toEqual(before);
  expect(await pull(token)).toEqual(pending);
});

it('[EXPLAIN-3] an unknown device or source is refused', async () => {
  expect(await refusalOf(test.tidemark.delivery.explain('nobody', 'Order', '1'))).toBe('client_not_found');
  expect(await refusalOf(test.tidemark.delivery.pending('c1', 'Nothing'))).toBe('source_not_found');
});

const BEHIND = { name: 'field', reason: 'it is 5 min behind' };

it('[PG-213] an object that a device lacks, or holds as Tidemark has it, is explained by the connector that is behind', () => {
  const { verdict, sentence } = explain({ ...FACTS, connector: BEHIND });
  expect([verdict, sentence]).toEqual([
    'connector_behind',
    'What the database says about object "1" of "Order" may not be here yet: of the connector "field", it is 5 min behind.',
  ]);
  expect(explain({ ...FACTS, connector: BEHIND, isInEarlierPartition: true }).verdict).toBe('other_partition');
});

it('[PG-213] a connector delays a source while it is behind or not connected, and while the table is not ready', async () => {
  const { tidemark, clock } = await newTidemark();
  const table = { table: 'public.orders', source: 'Order', rows: 1, estimate: 4, percent: 25, rows_per_s: 1 };
  const none = { count: 0, samples: [] };
  const report = {
    ...({ kind: 'postgres', state: 'streaming', runs_in: 'server', server: null, fresh_at: null, lag_ms: 0 } as const),
    ...{ position: null, rows_total: 0, rows_per_s: 0, slot: null, error: null, healed: null },
    ...{ problems: none, waiting: none, tables: [{ ...table, phase: 'copying' as const }] },
  };
  await tidemark.connectors.report('field', report);
  const delay = async (source: string) => reasonOfDelay(await tidemark.connectors.list(), source);
  const name = 'field';
  expect(await delay('Order')).toEqual({ name, reason: 'the table public.orders is not ready: copying (25 %)' });
  await tidemark.connectors.report('field', { ...report, tables: [{ ...table, phase: 'ready' }] });
  expect(await delay('Order')).toBeNull();
  clock.advance(61_000);
  expect(await delay('Order')).toEqual({ name, reason: 'it has not reported for 61 s; does it run?' });
  expect(await delay('Product')).toBeNull();
});
