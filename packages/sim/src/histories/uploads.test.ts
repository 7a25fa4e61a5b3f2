import type { DeviceId, Tidemark } from '@tidemark/core';
import { Refusal, type Upload } from '@tidemark/protocol';
import { Dice, newTidemark, openMemoryStore, seededRandom } from '@tidemark/testing/kit';
import { describe, expect, it } from 'vitest';
import { jitterStore } from './jitter-store.ts';

const HISTORIES = 300;
const DEVICES = 3;
const OBJECTS = ['a', 'b', 'c'];

/**
 * One upload and how often it is brought. One of its attributes is nobody else's, so that each leaves a trace; the other
 * is everybody's, so that an upload that is applied again later shows by what it undoes.
 */
interface Brought {
  readonly device: DeviceId;
  readonly upload: Upload;
  readonly times: number;
}

/** Brings everything in random groups, some of it several times, much of it at once; sometimes what is known is said. */
async function bringAll(tidemark: Tidemark, brought: readonly Brought[], dice: Dice): Promise<void> {
  const queue = dice.shuffle(brought.flatMap((one) => Array.from({ length: one.times }, () => one)));
  const late: Brought[] = [];
  while (queue.length > 0) {
    const together = queue.splice(0, dice.between(1, 6));
    await Promise.all(together.map((one) => bring(tidemark, one, dice)));
    for (const one of together) {
      if (dice.chance(30)) await acknowledge(tidemark, one);
      if (dice.chance(20)) late.push(one);
    }
  }
  for (const one of [...brought, ...late]) await bring(tidemark, one, dice);
}

async function bring(tidemark: Tidemark, { device, upload }: Brought, dice: Dice): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      const changes = dice.chance(20) ? [upload, upload] : [upload];
      const outcomes = await tidemark.devices.push(device, { changes });
      for (const { status } of outcomes) expect(status).toBe('applied');
      return;
    } catch (error) {
      // Somebody was always faster: the device tries again, as a real one would.
      if (!(error instanceof Refusal && error.code === 'write_conflict')) throw error;
    }
  }
  expect.fail('an upload never got through');
}

async function acknowledge(tidemark: Tidemark, { device, upload }: Brought): Promise<void> {
  await tidemark.devices.push(device, { changes: [], acknowledged: new Map([['Order', [upload.op_id]]]) });
}

async function newWorld(seed: number): Promise<{ readonly tidemark: Tidemark; readonly devices: readonly DeviceId[] }> {
  const dice = new Dice(seededRandom(seed));
  const store = jitterStore(openMemoryStore({ random: seededRandom(seed + 1) }), () => dice.below(2 ** 31));
  const { tidemark } = await newTidemark({ store });
  const devices: DeviceId[] = [];
  for (let index = 0; index < DEVICES; index++) {
    devices.push({ user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id });
  }
  return { tidemark, devices };
}

function drawUploads(dice: Dice, devices: readonly DeviceId[]): Brought[] {
  return Array.from({ length: dice.between(2, 12) }, (_, index) => {
    const upload: Upload = {
      // Devices number their uploads without knowing of each other.
      ...{ op_id: `op${Math.floor(index / DEVICES)}`, source: 'Order', op: 'update', id: dice.pick(OBJECTS) },
      attributes: { [`n${index}`]: index, last: index },
    };
    return { device: devices[index % DEVICES] as DeviceId, upload, times: dice.pick([1, 1, 2, 3]) };
  });
}

describe('uploads in random histories', () => {
  it(`[UPLOAD-13] each is applied exactly once, however often and together with whatever it comes (${HISTORIES} histories)`, async () => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      const dice = new Dice(seededRandom(seed * 7));
      const { tidemark, devices } = await newWorld(seed);
      const place = { source: 'Order', user_id: 'ada' };
      await tidemark.pushObjects({ ...place, objects: Object.fromEntries(OBJECTS.map((id) => [id, { born: true }])) });
      const brought = drawUploads(dice, devices);
      const pushes = dice.between(0, 4);
      const pushing = Array.from({ length: pushes }, (_, index) =>
        tidemark.pushObjects({ ...place, objects: { a: { [`pushed${index}`]: index } } }),
      );
      await Promise.all([bringAll(tidemark, brought, dice), ...pushing]);
      const expected = new Map(OBJECTS.map((id) => [id, { born: true } as Record<string, unknown>]));
      for (const { upload } of brought) Object.assign(expected.get(upload.id) ?? {}, upload.attributes);
      for (let index = 0; index < pushes; index++)
        Object.assign(expected.get('a') ?? {}, { [`pushed${index}`]: index });
      const held = new Map([...(await tidemark.readObjects(place))].map(([id, { last: _last, ...own }]) => [id, own]));
      for (const object of expected.values()) delete object.last;
      expect([seed, held]).toEqual([seed, expected]);
      // Every effect takes a seq, and every upload has one, because it says something else than all others.
      const { head } = await tidemark.partition(place);
      expect([seed, head]).toEqual([seed, OBJECTS.length + brought.length + pushes]);
    }
  });
});
