import type { DeviceId, Tidemark } from '@tidemark/core';
import { Refusal, type Upload } from '@tidemark/protocol';
import { newTidemark, openMemoryStore, Rng, seededRandom } from '@tidemark/testing/kit';
import { describe, expect, it } from 'vitest';
import { delayedStore } from '../faults/delayed-store.ts';

const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 1_000 : 50;
const DEVICES = 3;
const OBJECTS = ['a', 'b', 'c'];

/**
 * One upload and how often it is sent. One of its attributes is its own, so that each upload leaves a trace; the other is
 * shared, so that an upload that is applied again later shows by what it overwrites.
 */
interface SentUpload {
  readonly device: DeviceId;
  readonly upload: Upload;
  readonly times: number;
}

/** Sends all uploads in random concurrent groups, some several times; sometimes acknowledges their outcomes. */
async function sendAll(tidemark: Tidemark, uploads: readonly SentUpload[], rng: Rng): Promise<void> {
  const queue = rng.shuffle(uploads.flatMap((one) => Array.from({ length: one.times }, () => one)));
  const late: SentUpload[] = [];
  while (queue.length > 0) {
    const concurrent = queue.splice(0, rng.between(1, 6));
    await Promise.all(concurrent.map((one) => send(tidemark, one, rng)));
    for (const one of concurrent) {
      if (rng.chance(30)) await acknowledge(tidemark, one);
      if (rng.chance(20)) late.push(one);
    }
  }
  for (const one of [...uploads, ...late]) await send(tidemark, one, rng);
}

async function send(tidemark: Tidemark, { device, upload }: SentUpload, rng: Rng): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      const changes = rng.chance(20) ? [upload, upload] : [upload];
      const outcomes = await tidemark.devices.push(device, { changes });
      for (const { status } of outcomes) expect(status).toBe('applied');
      return;
    } catch (error) {
      // Other writers were always faster: the device tries again, as a real one would.
      if (!(error instanceof Refusal && error.code === 'write_conflict')) throw error;
    }
  }
  expect.fail('an upload was never applied');
}

async function acknowledge(tidemark: Tidemark, { device, upload }: SentUpload): Promise<void> {
  await tidemark.devices.push(device, { changes: [], acknowledged: new Map([['Order', [upload.op_id]]]) });
}

async function newRun(seed: number): Promise<{ readonly tidemark: Tidemark; readonly devices: readonly DeviceId[] }> {
  const rng = new Rng(seededRandom(seed));
  const store = delayedStore(openMemoryStore({ random: seededRandom(seed + 1) }), () => rng.below(2 ** 31));
  const { tidemark } = await newTidemark({ store });
  const devices: DeviceId[] = [];
  for (let index = 0; index < DEVICES; index++) {
    devices.push({ user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id });
  }
  return { tidemark, devices };
}

function drawUploads(rng: Rng, devices: readonly DeviceId[]): SentUpload[] {
  return Array.from({ length: rng.between(2, 12) }, (_, index) => {
    const upload: Upload = {
      // Several devices use the same op ids.
      ...{ op_id: `op${Math.floor(index / DEVICES)}`, source: 'Order', op: 'update', id: rng.pick(OBJECTS) },
      attributes: { [`n${index}`]: index, last: index },
    };
    return { device: devices[index % DEVICES] as DeviceId, upload, times: rng.pick([1, 1, 2, 3]) };
  });
}

describe('uploads in random histories', () => {
  it(`[UPLOAD-13] an upload is applied exactly once, however often it is sent and whatever runs at the same time (${HISTORIES} histories)`, async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const rng = new Rng(seededRandom(seed * 7));
      const { tidemark, devices } = await newRun(seed);
      const partition = { source: 'Order', user_id: 'ada' };
      await tidemark.objects.push({
        ...partition,
        objects: Object.fromEntries(OBJECTS.map((id) => [id, { created: true }])),
      });
      const uploads = drawUploads(rng, devices);
      const pushes = rng.between(0, 4);
      const pushing = Array.from({ length: pushes }, (_, index) =>
        tidemark.objects.push({ ...partition, objects: { a: { [`pushed${index}`]: index } } }),
      );
      await Promise.all([sendAll(tidemark, uploads, rng), ...pushing]);
      const expected = new Map(OBJECTS.map((id) => [id, { created: true } as Record<string, unknown>]));
      for (const { upload } of uploads) Object.assign(expected.get(upload.id) ?? {}, upload.attributes);
      for (let index = 0; index < pushes; index++)
        Object.assign(expected.get('a') ?? {}, { [`pushed${index}`]: index });
      const held = new Map(
        [...(await tidemark.objects.read(partition))].map(([id, { last: _last, ...own }]) => [id, own]),
      );
      for (const object of expected.values()) delete object.last;
      expect([seed, held]).toEqual([seed, expected]);
      // Every change takes a seq, and every upload changes something.
      const { head } = await tidemark.objects.partition(partition);
      expect([seed, head]).toEqual([seed, OBJECTS.length + uploads.length + pushes]);
    }
  });
});
