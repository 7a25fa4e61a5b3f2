import { createHash } from 'node:crypto';
import { Refusal, type Upload } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { Adapter } from '../ports/adapter.ts';
import { JobFailure } from '../ports/jobs.ts';
import { UPLOAD_QUEUE } from './upload-job.ts';

const WAIT_MS = 3_600_000;
const SIZE = 100;
const hash = (name: string) => createHash('sha256').update(name).digest('hex');
const photo = (name: string) => ({ $file: { sha256: hash(name), size: SIZE, type: 'image/jpeg' } });

interface SceneOptions {
  /** Decides whose data of other sources the user reads. */
  readonly team?: Adapter;
  readonly adapter?: Partial<Adapter>;
  readonly references?: Readonly<Record<string, string>>;
  readonly hasJobs?: boolean;
  readonly backendWaitMs?: number;
}

/** A device of ada whose source has a backend that wants the files of an object before the object. */
async function scene(options: SceneOptions = {}) {
  const { adapter = {}, references = {}, hasJobs = true, backendWaitMs = WAIT_MS, team } = options;
  const clock = settableClock();
  const jobs = openMemoryJobs({ clock });
  const calls: string[] = [];
  const backend: Adapter = {
    waitsForFiles: true,
    query: async () => ({ objects: {} }),
    create: async ({ id }) => {
      calls.push(`create ${id}`);
      return `b-${id}`;
    },
    update: async ({ id }) => void calls.push(`update ${id}`),
    delete: async ({ id }) => void calls.push(`delete ${id}`),
    ...adapter,
  };
  const { tidemark } = await newTidemark({
    adapters: { find: (name) => (name === 'team' && team !== undefined ? team : backend) },
    clock,
    fileRules: { backendWaitMs },
    ...(hasJobs ? { jobs } : {}),
  });
  await tidemark.sources.declare({ name: 'Inspection', adapter: 'backend', poll_interval: -1, references });
  const client = (await tidemark.clients.register('ada', {})).client_id;
  let ops = 0;
  return {
    tidemark,
    calls,
    clock,
    /** Uploads changes. Returns their statuses. */
    async push(...changes: Pick<Upload, 'op' | 'id' | 'attributes'>[]): Promise<readonly string[]> {
      const whole = changes.map((change) => ({ op_id: `op-${++ops}`, source: 'Inspection', ...change }) as Upload);
      return (await tidemark.devices.push({ user: 'ada', client }, { changes: whole })).map(({ status }) => status);
    },
    /** The bytes of a file arrive. */
    async send(name: string, login: string): Promise<void> {
      const arrival = { sha256: hash(name), size: SIZE, by: { kind: 'user', login } as const };
      await tidemark.files.arriving(arrival);
      await tidemark.files.stored(arrival);
    },
    /** Runs the next due job. Returns how it failed; null: it did not, or none is due. */
    async work(): Promise<JobFailure | null> {
      const job = await jobs.lease(UPLOAD_QUEUE, 60_000);
      if (job === null) return null;
      const end = await tidemark.devices.runUpload(job).catch((error: unknown) => error);
      if (end === undefined) await jobs.acknowledge(job);
      else if (!(end instanceof JobFailure)) throw end;
      else {
        const atMs = clock.nowMs() + (end.retryAfterMs ?? 0);
        if (end.backsOff) await jobs.retry(job, atMs, end.message);
        else await jobs.giveBack(job, { atMs, reason: end.message });
      }
      return end ?? null;
    },
  };
}

describe('calls to a backend about objects with files', () => {
  it('[FILES-79] the call waits until every file of the object has arrived, and says what it waits for', async () => {
    const { push, send, work, calls, clock } = await scene();
    const attributes = { bow: photo('bow'), more: [photo('stern')] };
    expect(await push({ op: 'create', id: 'd1', attributes })).toEqual(['queued']);
    expect(await work()).toMatchObject({
      message: 'it waits for 2 files that have not arrived yet',
      retryAfterMs: 1_000,
      backsOff: false,
      isFinal: false,
    });
    await send('bow', 'ada');
    clock.advance(1_000);
    expect((await work())?.message).toBe('it waits for a file that has not arrived yet');
    await send('stern', 'ada');
    clock.advance(1_000);
    expect([await work(), calls]).toEqual([null, ['create d1']]);
  });

  it('[FILES-79] the call comes at once if the files are here, or if nothing refers to one', async () => {
    const { push, send, calls } = await scene();
    await send('bow', 'ada');
    const changes = [
      { op: 'create', id: 'd1', attributes: { bow: photo('bow') } },
      { op: 'create', id: 'd2', attributes: { note: 'no photo' } },
    ] as const;
    expect([await push(...changes), calls.toSorted()]).toEqual([
      ['applied', 'applied'],
      ['create d1', 'create d2'],
    ]);
  });

  it('[FILES-79] other objects do not wait, and later changes of the same object come after it', async () => {
    const { push, send, work, calls, clock } = await scene();
    const statuses = await push(
      { op: 'create', id: 'd1', attributes: { bow: photo('bow') } },
      { op: 'create', id: 'd2', attributes: { note: 'no photo' } },
      { op: 'update', id: 'd1', attributes: { note: 'later' } },
      { op: 'update', id: 'd2', attributes: { note: 'later' } },
    );
    expect(statuses).toEqual(['queued', 'applied', 'queued', 'applied']);
    expect(calls).toEqual(['create d2', 'update b-d2']);
    await send('bow', 'ada');
    for (let round = 0; round < 10 && calls.length < 4; round++) {
      await work();
      clock.advance(1_000);
    }
    expect(calls.slice(2)).toEqual(['create d1', 'update b-d1']);
  });

  it('[FILES-79] where objects refer to each other, what is uploaded after a waiting object comes after it, too', async () => {
    const { push, send, work, calls, clock } = await scene({ references: { parent: 'Inspection' } });
    const statuses = await push(
      { op: 'create', id: 'd1', attributes: { bow: photo('bow') } },
      { op: 'create', id: 'd2', attributes: { parent: 'd1' } },
    );
    expect([statuses, calls]).toEqual([['queued', 'queued'], []]);
    await send('bow', 'ada');
    for (let round = 0; round < 10 && calls.length < 2; round++) {
      await work();
      clock.advance(1_000);
    }
    expect(calls).toEqual(['create d1', 'create d2']);
  });

  it('[FILES-79] after the longest wait the call goes ahead, and the looks become rarer until then', async () => {
    const { push, work, calls, clock } = await scene();
    await push({ op: 'create', id: 'd1', attributes: { bow: photo('bow') } });
    const pauses: number[] = [];
    const startMs = clock.nowMs();
    for (let round = 0; round < 200 && calls.length === 0; round++) {
      const end = await work();
      if (end === null) break;
      pauses.push(end.retryAfterMs ?? 0);
      clock.advance(end.retryAfterMs ?? 0);
    }
    expect([calls, clock.nowMs() - startMs]).toEqual([['create d1'], WAIT_MS]);
    expect([pauses[0], Math.max(...pauses), pauses.length < 100]).toEqual([1_000, 300_000, true]);
  });

  it('[FILES-79] nothing waits if that is set, if the adapter takes no files, or if there is no queue to wait in', async () => {
    const ways: SceneOptions[] = [{ backendWaitMs: 0 }, { adapter: { waitsForFiles: false } }, { hasJobs: false }];
    for (const way of ways) {
      const { push, calls } = await scene(way);
      expect(await push({ op: 'create', id: 'd1', attributes: { bow: photo('bow') } })).toEqual(['applied']);
      expect(calls).toEqual(['create d1']);
    }
  });

  it('[FILES-79] who guesses the hash of somebody else’s file waits as if it were not here', async () => {
    const { push, send, work, calls, clock } = await scene();
    await send('bow', 'bob');
    const create = (name: string) => push({ op: 'create', id: name, attributes: { file: photo(name) } });
    expect([await create('bow'), await create('nothing')]).toEqual([['queued'], ['queued']]);
    clock.advance(1_000);
    expect([(await work())?.message, (await work())?.message]).toEqual(
      Array(2).fill('it waits for a file that has not arrived yet'),
    );
    expect(calls).toEqual([]);
  });

  it.each([
    ['fails', new Error('down')],
    ['cannot be reached', new Refusal('backend_unavailable', 'no answer')],
  ])(
    '[FILES-79] a file of a source whose backend %s holds up its object alone, until that backend is back',
    async (_, trouble) => {
      let isDown = false;
      const refuse = () => Promise.reject(new Error('not in this test'));
      const groups = async () => (isDown ? Promise.reject(trouble) : ['north']);
      const team: Adapter = { query: refuse, create: refuse, update: refuse, delete: refuse, groups };
      const { tidemark, push, work, calls, clock } = await scene({ team });
      await tidemark.sources.declare({ name: 'Job', adapter: 'team', partition_type: 'group', poll_interval: -1 });
      const source = await tidemark.sources.view('Job');
      const { owners } = await tidemark.sources.memberships.owners(source, 'ada');
      expect(owners).toEqual([{ kind: 'group', name: 'north' }]);
      await tidemark.objects.push({ source: 'Job', group: 'north', objects: { j1: { photo: photo('bow') } } });
      await tidemark.files.stored({ sha256: hash('bow'), size: SIZE, by: { kind: 'backend' } });
      isDown = true;
      const attributes = { photo: photo('bow') };
      const create = { op: 'create', id: 'd1', attributes } as const;
      expect(await push(create, { op: 'create', id: 'd2', attributes: { n: 1 } })).toEqual(['queued', 'applied']);
      expect(await work()).toMatchObject({ backsOff: true });
      isDown = false;
      clock.advance(60_000);
      expect(await work()).toBeNull();
      expect(calls).toEqual(['create d2', 'create d1']);
    },
  );
});
