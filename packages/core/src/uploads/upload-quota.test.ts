import type { Outcome, Upload } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { type Adapter, AdapterRefusal } from '../ports/adapter.ts';
import { userPartition } from '../ports/owner.ts';

const partition = userPartition('Customer', 'ada');
const BYTES_MAX = 10_000;

async function setUp(attributes: Record<string, unknown> = {}) {
  const clock = settableClock();
  const jobs = openMemoryJobs({ clock });
  const backend = { calls: 0, isRefusing: false };
  const answer = async () => {
    backend.calls++;
    if (backend.isRefusing) throw new AdapterRefusal('rejected', 'no');
  };
  const adapter: Adapter = {
    query: async () => ({ objects: {} }),
    create: async ({ id }) => answer().then(() => id),
    update: answer,
    delete: answer,
  };
  const adapters = { find: () => adapter };
  const { tidemark, store } = await newTidemark({ adapters, jobs, clock, limits: { userBytesMax: BYTES_MAX } });
  const declared = { name: 'Customer', partition_type: 'user', adapter: 'backend', poll_interval: -1, ...attributes };
  await tidemark.sources.declare(declared);
  const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { 1: { n: 0 }, 2: { n: 0 } } });
  let count = 0;
  let earlier: readonly string[] = [];
  /** Uploads one change, and acknowledges the one before. */
  const push = async (op: Upload['op'], id: string): Promise<Outcome | undefined> => {
    const more = op === 'delete' ? {} : { attributes: { n: ++count } };
    const changes = [{ op_id: `op-${++count}`, source: 'Customer', op, id, ...more }];
    const acknowledged = new Map([['Customer', earlier]]);
    const [outcome] = await tidemark.devices.push(device, { changes, acknowledged });
    earlier = changes.map(({ op_id }) => op_id);
    return outcome;
  };
  /** Uploads until the quota is met. Returns how many uploads were accepted. */
  const fill = async (op: Upload['op'], id = '1') => {
    for (let round = 0; round < 200; round++) {
      const outcome = await push(op, id);
      if (outcome?.error?.code === 'quota_exceeded') return round;
    }
    throw new Error('the quota was not met');
  };
  const bytes = () => store.bytes(partition);
  return { backend, push, fill, bytes };
}

describe('a full partition of a source with a backend', () => {
  it('[UPLOAD-19] the backend is not asked, and nothing is remembered, except of one deletion per object', async () => {
    const { backend, push, fill, bytes } = await setUp();
    expect(await fill('update')).toBeGreaterThan(10);
    const full = await bytes();
    expect(full).toBeLessThan(BYTES_MAX + 500);
    const { calls } = backend;
    const refused = { status: 'rejected', error: { code: 'quota_exceeded' } };
    for (let round = 0; round < 10; round++) {
      expect(await push('create', `new ${round}`)).toMatchObject(refused);
      expect(await push('update', '1')).toMatchObject(refused);
      expect(await push('delete', `unknown ${round}`)).toMatchObject(refused);
    }
    expect({ calls: backend.calls, bytes: await bytes() }).toEqual({ calls, bytes: full });
    expect(await push('delete', '1')).toMatchObject({ status: 'applied', id: '1' });
    expect(backend.calls).toBe(calls + 1);
  });

  it('[UPLOAD-19] what the backend refuses is answered, and remembered only while there is room', async () => {
    const { backend, push, bytes } = await setUp();
    backend.isRefusing = true;
    const sizes: number[] = [];
    for (let round = 0; round < 100; round++) {
      expect(await push('delete', '1')).toMatchObject({ status: 'rejected', error: { detail: 'no' } });
      sizes.push(await bytes());
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(BYTES_MAX);
    expect(new Set(sizes.slice(-20)).size).toBe(1);
  });

  it('[UPLOAD-19] queued uploads count until their jobs are done', async () => {
    const { push, fill, bytes } = await setUp({ cud_queue: 'slow' });
    expect(await fill('update')).toBeGreaterThan(10);
    const full = await bytes();
    expect(full).toBeLessThan(BYTES_MAX + 500);
    for (let round = 0; round < 10; round++) await push('update', '1');
    expect(await bytes()).toBe(full);
    expect(await push('delete', '2')).toMatchObject({ status: 'queued' });
  });
});
