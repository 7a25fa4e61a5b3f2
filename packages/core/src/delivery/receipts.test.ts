import { LIST_MAX, type Page, RECEIPT_ACTIVE_MS, RECEIPT_WAITS_MAX } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import { pageJson } from '../pages/render-page.ts';
import { sharedPartition } from '../ports/owner.ts';
import type { ReceiptCall } from './receipt-question.ts';

const PRODUCTS = sharedPartition('Product');

let test: TestTidemark;
/** The timers of waiting calls, fired by the test. */
let timers: (() => void)[];

beforeEach(async () => {
  timers = [];
  test = await newTidemark({ wait: () => new Promise((resolve) => timers.push(resolve)) });
});

async function newDevice(client: string, user = 'ada'): Promise<DeviceId> {
  return { user, client: (await test.tidemark.clients.register(user, { client_id: client })).client_id };
}

async function pull(device: DeviceId, token: string | null, objectsMax = 100): Promise<Page> {
  const answer = await test.tidemark.devices.pull(device, { sources: new Map([['Product', token]]), objectsMax });
  await answer.noted;
  const page = answer.pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('the source has a page');
  return JSON.parse(pageJson(page.token, page.body)) as Page;
}

const acknowledge = (device: DeviceId, token: string) =>
  test.tidemark.devices.acknowledge(device, new Map([['Product', token]]));

/** Pulls everything, and acknowledges it. Returns the token. */
async function catchUp(device: DeviceId, token: string | null = null): Promise<string> {
  const page = await pull(device, token);
  await acknowledge(device, page.token);
  return page.token;
}

async function push(...ids: string[]): Promise<number> {
  const objects = Object.fromEntries(ids.map((id) => [id, { a: id }]));
  return (await test.tidemark.objects.push({ source: 'Product', objects })).seq;
}

const receipt = (call: Partial<ReceiptCall> = {}) => test.tidemark.receipts.read({ source: 'Product', ...call });

describe('receipts', () => {
  it('[RECEIPT-1] a device counts when it has presented the token of the last page, not when the page was sent', async () => {
    const device = await newDevice('c1');
    const seq = await push('1', '2', '3');
    const first = await pull(device, null, 2);
    expect(await receipt({ seq })).toMatchObject({ devices: 1, delivered: 0, behind: 1, never_synced: 0 });
    const last = await pull(device, first.token, 2);
    expect(last.more).toBe(false);
    // A device that is killed here holds the last page and has not said so.
    expect(await receipt({ seq })).toMatchObject({ delivered: 0, behind: 1 });
    await acknowledge(device, last.token);
    expect(await receipt({ seq })).toMatchObject({
      delivered: 1,
      behind: 0,
      oldest_behind_at: null,
      behind_devices: [],
    });
  });

  it('[RECEIPT-1] a token from the middle of a catch-up acknowledges no more than its base', async () => {
    const device = await newDevice('c1');
    await push('1');
    const token = await catchUp(device);
    const seq = await push('2', '3', '4');
    const middle = await pull(device, token, 2);
    // Progress within a catch-up is recorded at most once a second.
    test.clock.advance(1_000);
    await acknowledge(device, middle.token);
    expect(await receipt({ seq: seq - 1 })).toMatchObject({
      delivered: 0,
      behind_devices: [{ client_id: 'c1', acknowledged: 1, missing: 3 }],
    });
  });

  it('[RECEIPT-2] devices that start over or hold a token of another epoch have acknowledged nothing', async () => {
    const [current, gone] = [await newDevice('current'), await newDevice('gone')];
    await newDevice('never');
    const seq = await push('1');
    const token = await catchUp(current);
    await catchUp(gone);
    expect(await receipt({ seq })).toMatchObject({ devices: 3, delivered: 2, behind: 0, never_synced: 1 });
    await test.tidemark.devices.restart(current, ['Product']);
    await acknowledge(current, token);
    await test.tidemark.clients.delete('ada', 'gone');
    expect(await receipt({ seq })).toMatchObject({
      ...{ devices: 2, delivered: 0, behind: 1, never_synced: 1 },
      behind_devices: [{ client_id: 'current', acknowledged: null, missing: 1 }],
    });
    await test.tidemark.sources.drop('Product');
    await test.tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
    await push('1');
    await acknowledge(current, token);
    expect(await receipt()).toMatchObject({ seq: 1, delivered: 0, behind: 0, never_synced: 2 });
  });

  it('[RECEIPT-3] devices that are behind are listed once each, the furthest first, in pages of any size', async () => {
    for (let index = 0; index < 7; index++) {
      await push(`o${index}`);
      await catchUp(await newDevice(`c${index}`, index % 2 === 0 ? 'ada' : 'bob'));
    }
    await push('last');
    const whole = await receipt();
    expect(
      whole.behind_devices.map(({ client_id, acknowledged, missing }) => [client_id, acknowledged, missing]),
    ).toEqual(Array.from({ length: 7 }, (_, index) => [`c${index}`, index + 1, 7 - index]));
    expect(whole.oldest_behind_at).toBe(whole.behind_devices[0]?.last_contact);
    for (const limit of [1, 2, 3, 7, LIST_MAX]) {
      const found: unknown[] = [];
      for (let after: string | null | undefined; after !== null; ) {
        const page = await receipt({ limit, ...(after === undefined ? {} : { after }) });
        expect(page).toMatchObject({ behind: 7, oldest_behind_at: whole.oldest_behind_at });
        found.push(...page.behind_devices);
        after = page.next;
      }
      expect(found).toEqual(whole.behind_devices);
    }
    for (const limit of [0, LIST_MAX + 1]) expect(await refusalOf(receipt({ limit }))).toBe('invalid_request');
    expect(await refusalOf(receipt({ after: 'rubbish' }))).toBe('invalid_request');
  });

  it('[RECEIPT-4] with a user only the devices of the user are counted, page by page', async () => {
    await push('1');
    const [first] = [await newDevice('a1'), await newDevice('a2'), await newDevice('b1', 'bob')];
    for (const client of ['a1', 'a2']) await catchUp({ user: 'ada', client });
    const token = await catchUp({ user: 'bob', client: 'b1' });
    await push('2');
    await catchUp(first as DeviceId, token);
    expect(await receipt({ user_id: 'ada' })).toMatchObject({ user_id: 'ada', devices: 2, delivered: 1, behind: 1 });
    expect(await receipt({ user_id: 'bob', limit: 1 })).toMatchObject({ devices: 1, behind: 1, next: null });
    expect(await receipt()).toMatchObject({ user_id: null, devices: 3, delivered: 1, behind: 2 });
  });

  it('[RECEIPT-3] a page goes on behind the last device of the page before, also when that has caught up meanwhile', async () => {
    const second = await newDevice('c2');
    const devices = [await newDevice('c1'), second, await newDevice('c3')];
    const tokens = new Map<DeviceId, string>();
    for (const call of [{ user_id: 'ada' }, {}]) {
      await push('1');
      for (const device of devices) tokens.set(device, await catchUp(device, tokens.get(device)));
      await test.tidemark.objects.pushDeletes({ source: 'Product', objects: ['1'] });
      const { behind_devices, next } = await receipt({ ...call, limit: 2 });
      expect(behind_devices.map(({ client_id }) => client_id)).toEqual(['c1', 'c2']);
      await catchUp(second, tokens.get(second));
      const { behind_devices: rest } = await receipt({ ...call, limit: 2, after: next ?? '' });
      expect(rest.map(({ client_id }) => client_id)).toEqual(['c3']);
    }
  });

  it('[RECEIPT-4] a receipt needs a source, a user where data belongs to users, and a seq up to the head', async () => {
    await push('1');
    expect(await refusalOf(receipt({ source: 'Nothing' }))).toBe('source_not_found');
    expect(await refusalOf(receipt({ source: 'Order' }))).toBe('invalid_request');
    expect(await refusalOf(receipt({ user_id: 'nobody' }))).toBe('user_not_found');
    for (const seq of [2, -1, 0.5]) expect(await refusalOf(receipt({ seq }))).toBe('invalid_value');
    expect(await receipt({ source: 'Order', user_id: 'ada' })).toMatchObject({ seq: 0, head: 0, devices: 0 });
  });

  it('[RECEIPT-9] a tidemark of an earlier epoch counts up to the seq at which that epoch ended, and for nothing beyond it', async () => {
    await push('1', '2', '3', '4', '5');
    const bases = { behind: ['before', 2], edge: ['before', 3], lost: ['before', 4], now: [null, 5] } as const;
    const state = await test.store.partition(PRODUCTS);
    for (const [client, [epoch, base]] of Object.entries(bases)) {
      await newDevice(client);
      const mark = { client, epoch: epoch ?? state.epoch, seq: base, base, start: null, seenAtMs: test.clock.nowMs() };
      await test.store.noteTidemark(PRODUCTS, mark, []);
    }
    const fallen = { ...state, earlier: [{ epoch: 'before', upTo: 3 }] };
    Object.assign(test.store, { partition: async () => fallen });
    const behindAt = async (call: Partial<ReceiptCall>) => {
      const { delivered, behind, never_synced, behind_devices: devices } = await receipt(call);
      return [delivered, behind, never_synced, devices.map(({ client_id, acknowledged }) => [client_id, acknowledged])];
    };
    for (const user of [{}, { user_id: 'ada' }]) {
      expect(await behindAt({ seq: 2, ...user })).toEqual([3, 1, 0, [['lost', null]]]);
      expect(await behindAt({ seq: 3, ...user })).toEqual([
        ...[2, 2, 0],
        [
          ['behind', 2],
          ['lost', null],
        ],
      ]);
      expect(await behindAt({ seq: 5, ...user })).toEqual([
        ...[1, 3, 0],
        [
          ['behind', 2],
          ['edge', 3],
          ['lost', null],
        ],
      ]);
    }
  });

  it('[RECEIPT-6] a receipt lists only those that are behind, and reads no tidemark of the others', async () => {
    for (let index = 0; index < 5; index++) await newDevice(`c${index}`);
    await push('1');
    const token = await catchUp({ user: 'ada', client: 'c0' });
    await push('2');
    for (let index = 1; index < 5; index++) await catchUp({ user: 'ada', client: `c${index}` });
    expect(token).toBeTypeOf('string');
    const calls: string[] = [];
    for (const name of ['readTidemark', 'listTidemarks', 'listAcknowledged'] as const) {
      const read = test.store[name].bind(test.store) as (...args: unknown[]) => Promise<unknown>;
      Object.assign(test.store, {
        [name]: async (...args: unknown[]) => {
          const answer = await read(...args);
          calls.push(`${name} ${(answer as readonly unknown[]).length}`);
          return answer;
        },
      });
    }
    expect(await receipt()).toMatchObject({ devices: 5, delivered: 4, behind: 1 });
    expect(calls).toEqual(['listAcknowledged 1']);
  });
});

describe('waiting for devices', () => {
  const waiting = (isOver = () => false, call: Partial<ReceiptCall> = {}) =>
    test.tidemark.receipts.wait({ source: 'Product', ...call }, { waitMs: 5_000, isOver });
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };

  async function oneBehind(): Promise<{ readonly device: DeviceId; readonly token: string }> {
    const device = await newDevice('c1');
    await push('1');
    await catchUp(device);
    await push('2');
    return { device, token: (await pull(device, null)).token };
  }

  it('[RECEIPT-5] a waiting call ends as soon as this server records the acknowledgement', async () => {
    const { device, token } = await oneBehind();
    const wait = waiting();
    await turns();
    await acknowledge(device, token);
    expect(await wait).toMatchObject({ seq: 2, delivered: 1, behind: 0 });
  });

  it('[RECEIPT-5] an acknowledgement that another server recorded is found when the store is read again', async () => {
    const { device } = await oneBehind();
    const wait = waiting();
    await turns();
    const { epoch } = await test.store.partition(PRODUCTS);
    const mark = { client: device.client, epoch, seq: 2, base: 2, start: null, seenAtMs: test.clock.nowMs() };
    await test.store.noteTidemark(PRODUCTS, mark, []);
    for (const fire of timers) fire();
    expect(await wait).toMatchObject({ delivered: 1 });
  });

  it('[RECEIPT-5] a waiting call ends when its time is over, or its caller has hung up', async () => {
    await oneBehind();
    const late = waiting();
    await turns();
    test.clock.advance(5_000);
    for (const fire of timers.splice(0)) fire();
    expect(await late).toMatchObject({ behind: 1, active_delivered: false });
    expect(await waiting(() => true)).toMatchObject({ behind: 1 });
  });

  it('[RECEIPT-5] devices that were not seen for a day are not waited for', async () => {
    await oneBehind();
    test.clock.advance(RECEIPT_ACTIVE_MS);
    expect(await waiting()).toMatchObject({ behind: 1, active_delivered: true });
    expect(timers).toEqual([]);
  });

  it('[RECEIPT-5] the number of waiting calls is bounded, and a call that has ended makes room', async () => {
    const { device, token } = await oneBehind();
    const waits = Array.from({ length: RECEIPT_WAITS_MAX }, () => waiting());
    await turns();
    expect(await refusalOf(waiting())).toBe('overloaded');
    await acknowledge(device, token);
    await Promise.all(waits);
    expect(await waiting()).toMatchObject({ delivered: 1 });
  });
});

describe('devices that caught up after a ping', () => {
  it('[PING-46] a device has caught up when it has acknowledged what its sources held before the ping', async () => {
    const device = await newDevice('c1');
    await push('1');
    const token = await catchUp(device);
    await push('2');
    const heads = await test.tidemark.receipts.headsOf('ada', ['Product', 'Nothing']);
    expect(heads).toEqual([{ partition: PRODUCTS, epoch: expect.any(String), head: 2 }]);
    const caughtUpByMs = () => test.tidemark.receipts.caughtUpByMs('c1', heads);
    await push('3');
    expect(await caughtUpByMs()).toBeNull();
    test.clock.advance(5_000);
    await catchUp(device, token);
    const nowMs = test.clock.nowMs();
    expect(await caughtUpByMs()).toBe(nowMs);
    test.clock.advance(5_000);
    await push('4');
    expect(await caughtUpByMs()).toBe(nowMs);
    await test.tidemark.devices.restart(device, ['Product']);
    expect(await caughtUpByMs()).toBeNull();
  });
});
