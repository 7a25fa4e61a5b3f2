import type { Page, PullAnswer } from '@tidemark/protocol';
import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { runInProcess, startTestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: Awaited<ReturnType<typeof startTestServer>>;
let admin: Caller;
let device: TestDevice;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await makeUser(server, 'ada');
  device = await openDevice(server, 'ada');
  await admin.post('/rc/v1/sources', { name: 'Order' });
  await pushed({ 1: { a: 1 } });
  await catchUp(null);
});
afterAll(async () => {
  admin.close();
  device.api.close();
  await server.close();
});

const pushed = (objects: object) => admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects });

let token: string | null = null;

/** Pulls what is new, and acknowledges it. */
async function catchUp(from: string | null = token): Promise<void> {
  const { body } = await device.api.post('/sync/v1/pull', {
    client_id: device.id,
    sources: { Order: { token: from } },
  });
  ({ token } = (body as PullAnswer).sources.Order as Page);
  await device.api.post('/sync/v1/ack', { client_id: device.id, sources: { Order: token } });
}

function cli(args: readonly string[], input = '') {
  const env = { HOME: '/nonexistent', TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
  return runInProcess(args, { env, folder: process.cwd(), input });
}

const ORDERS_OF_ADA = ['Order', '--user', 'ada'];
const explained = (object: string, ...more: string[]) =>
  cli(['explain', '--client', device.id, '--source', 'Order', '--object', object, ...more]);

describe('the commands about delivery', () => {
  it('[CLI-35] receipts shows who is behind, as lines or as JSON', async () => {
    await pushed({ 2: { a: 1 } });
    const { code, out } = await cli(['receipts', ...ORDERS_OF_ADA]);
    expect(code).toBe(0);
    expect(out).toMatch(/^behind +1$/m);
    expect(out).toMatch(new RegExp(`^${device.id} +ada +1 +1 `, 'm'));
    const json = JSON.parse((await cli(['receipts', ...ORDERS_OF_ADA, '--seq', '1', '--json'])).out);
    expect(json).toMatchObject({ seq: 1, head: 2, delivered: 1, behind: 0, behind_devices: [], next: null });
    await catchUp();
  });

  it('[CLI-35] receipts without a user of a source that needs one fails with the reason', async () => {
    const { code, err } = await cli(['receipts', 'Order']);
    expect(code).not.toBe(0);
    expect(err).toContain('user_id');
  });

  it('[CLI-36] explain prints the verdict, the sentence and the evidence', async () => {
    await pushed({ 3: { a: 1 } });
    const { code, out } = await explained('3');
    expect(code).toBe(0);
    expect(out).toMatch(/^verdict +pending$/m);
    expect(out).toMatch(/^object_seq +\d+$/m);
    const json = JSON.parse((await explained('1', '--json')).out);
    expect(json).toMatchObject({ verdict: 'current', remedy: '', evidence: { object_seq: 1 } });
    await catchUp();
    expect(JSON.parse((await explained('3', '--json')).out).verdict).toBe('current');
  });

  it('[CLI-37] a push that waits for devices succeeds when they have it, and fails when they do not', async () => {
    const push = (seconds: string, objects: object) =>
      cli(['push', 'objects', ...ORDERS_OF_ADA, '--wait-for-devices', seconds, '--json'], JSON.stringify(objects));
    const late = await push('0', { 4: { a: 1 } });
    expect([late.code, late.err]).toEqual([expect.any(Number), expect.stringContaining('1 of 1 devices')]);
    expect(late.code).not.toBe(0);
    const waiting = push('60', { 5: { a: 1 } });
    let held = 0;
    // The device pulls until it has what the waiting command has pushed.
    while (held < 5) {
      await catchUp();
      const { body } = await admin.get(`/rc/v1/clients/${device.id}`);
      held = (body as { cursors: { Order: { base: number } } }).cursors.Order.base;
    }
    expect(await waiting).toMatchObject({ code: 0 });
  });

  it('[CLI-34] tail prints events as they happen, and ends after the number asked for', async () => {
    const tail = cli(['tail', '--source', 'Order', '--kind', 'push', '--count', '1']);
    let isOver = false;
    const ended = tail.finally(() => {
      isOver = true;
    });
    // Pushes until the stream, which is opened meanwhile, has shown one.
    for (let n = 0; !isOver; n++) await pushed({ 9: { n } });
    const { code, out } = await ended;
    expect(code).toBe(0);
    expect(out).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}push {5}Order {2}user ada {2}push_objects: 1 changed, 0 unchanged, seq \d+/,
    );
    await catchUp();
  });

  it('[CLI-34] tail of an unknown kind fails with the reason', async () => {
    const { code, err } = await cli(['tail', '--kind', 'nonsense']);
    expect(code).not.toBe(0);
    expect(err).toContain('kind');
  });
});
