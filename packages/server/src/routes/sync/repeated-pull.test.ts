import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { fastPasswords, silentLog, startTestServer, type TestServer } from '@tidemark/testing/server';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { compose } from '../../compose.ts';

let first: TestServer;
let admin: Caller;
let device: TestDevice;
/** The device at the same server that its data is changed at. */
let here: Caller;
/** The device at another server on the same store. */
let there: Caller;

/** Pulls until nothing is new, then often enough that the last answer was a repeated one. */
async function catchUp(caller: Caller): Promise<unknown> {
  const { token } = (await pull(caller, null)).body.sources.Note as { readonly token: string };
  const quiet = { client_id: device.id, sources: { Note: { token } } };
  // The first pull of a device records its sync, which changes what is stored about it.
  for (let count = 0; count < 4; count++) await caller.post('/sync/v1/pull', quiet);
  return quiet;
}

async function pull(caller: Caller, token: string | null) {
  const { body } = await caller.post('/sync/v1/pull', { client_id: device.id, sources: { Note: { token } } });
  return { body: body as { readonly sources: Readonly<Record<string, unknown>> } };
}

/** Changes something after both servers have answered a pull without news several times; returns what they answer then. */
async function answersAfter(change: () => Promise<unknown>): Promise<readonly { status: number; body: unknown }[]> {
  const calls = [
    { caller: here, body: await catchUp(here) },
    { caller: there, body: await catchUp(there) },
  ];
  for (const { caller, body } of calls) {
    expect((await caller.post('/sync/v1/pull', body)).body).toMatchObject({ sources: { Note: { more: false } } });
  }
  await change();
  return Promise.all(calls.map(({ caller, body }) => caller.post('/sync/v1/pull', body)));
}

beforeEach(async () => {
  first = await startTestServer();
  const second = await compose({ ...first.config, port: 0 }, silentLog(), { passwords: fastPasswords });
  admin = new Caller(first.url, first.token);
  await admin.post('/rc/v1/sources', { name: 'Note', partition_type: 'app' });
  await admin.post('/app/v1/Note/push_objects', { objects: { n1: { text: 'one' } } });
  await makeUser(first, 'anna');
  device = await openDevice(first, 'anna');
  here = device.api;
  there = new Caller(second.url, device.session.token);
  onTestFinished(async () => {
    for (const caller of [admin, here, there]) caller.close();
    await second.close();
    await first.close();
  });
});

describe('a pull that is repeated without news', () => {
  const everyAnswer = (answer: object) => [expect.objectContaining(answer), expect.objectContaining(answer)];

  it('[SYNC-17] a revoked token is refused at once, at every server', async () => {
    const answers = await answersAfter(async () => {
      const tokens = (await admin.get('/rc/v1/tokens')).body as readonly {
        readonly id: string;
        readonly user: string;
      }[];
      const [own] = tokens.filter(({ user }) => user === 'anna');
      expect(await admin.delete(`/rc/v1/tokens/${own?.id}`)).toMatchObject({ status: 200 });
    });
    expect(answers).toEqual(everyAnswer({ status: 401, code: 'token_revoked' }));
  });

  it('[SYNC-17] a deleted device is refused at once, at every server', async () => {
    const answers = await answersAfter(() => admin.delete(`/rc/v1/users/anna/clients/${device.id}`));
    expect(answers).toEqual(everyAnswer({ status: 401, code: 'client_deleted' }));
  });

  it('[SYNC-17] a device of a deleted user is refused at once, at every server', async () => {
    const answers = await answersAfter(() => admin.delete('/rc/v1/users/anna'));
    expect(answers).toEqual(everyAnswer({ status: 401, code: 'token_invalid' }));
  });

  it('[SYNC-17] a changed source is noticed at once, at every server', async () => {
    const answers = await answersAfter(() => admin.put('/rc/v1/sources/Note', { data: { sync_type: 'bulk_only' } }));
    const error = { code: 'snapshot_required' };
    expect(answers).toEqual(
      everyAnswer({ body: expect.objectContaining({ sources: { Note: { error: expect.objectContaining(error) } } }) }),
    );
  });

  it('[SYNC-17] a deleted source is noticed at once, at every server', async () => {
    const answers = await answersAfter(() => admin.delete('/rc/v1/sources/Note'));
    const error = { code: 'source_not_found' };
    expect(answers).toEqual(
      everyAnswer({ body: expect.objectContaining({ sources: { Note: { error: expect.objectContaining(error) } } }) }),
    );
  });

  it('[SYNC-17] a push is delivered at once, at every server', async () => {
    const answers = await answersAfter(() => admin.post('/app/v1/Note/push_objects', { objects: { n2: { a: 1 } } }));
    const Note = expect.objectContaining({ put: { n2: { a: 1 } } });
    expect(answers).toEqual(everyAnswer({ body: expect.objectContaining({ sources: { Note } }) }));
  });

  it('[SYNC-17] a device that is told to start over does so at once, at every server', async () => {
    const answers = await answersAfter(() => here.post(`/sync/v1/clients/${device.id}/reset`, {}));
    const Note = expect.objectContaining({ reset: true, put: { n1: { text: 'one' } } });
    expect(answers).toEqual(everyAnswer({ body: expect.objectContaining({ sources: { Note } }) }));
  });

  it('[SYNC-17] after a reset of the store the device is refused at once, at every server', async () => {
    const answers = await answersAfter(() => admin.post('/rc/v1/system/reset', {}));
    expect(answers).toEqual(everyAnswer({ status: 401, code: 'token_invalid' }));
  });

  it('[SYNC-17] an outcome of an upload is delivered at once, at every server', async () => {
    const upload = { op_id: 'op 1', source: 'Note', op: 'create', id: 'n9', attributes: { a: 1 } };
    const answers = await answersAfter(async () => {
      expect(await here.post('/sync/v1/push', { client_id: device.id, changes: [upload] })).toMatchObject({
        status: 200,
      });
    });
    const outcomes = [expect.objectContaining({ op_id: 'op 1' })];
    expect(answers).toEqual(everyAnswer({ body: expect.objectContaining({ outcomes }) }));
  });
});
