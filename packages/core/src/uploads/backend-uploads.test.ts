import { type JsonValue, type Outcome, Refusal, UPLOAD_GIVE_UP_MS, type Upload } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, openMemoryStore, seededRandom, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { tokenHash } from '../accounts/token-text.ts';
import { type Adapter, AdapterRefusal, type UploadCall } from '../ports/adapter.ts';
import { JobFailure, type LeasedJob } from '../ports/jobs.ts';
import { userPartition } from '../ports/owner.ts';
import type { Commit, Store } from '../ports/store.ts';
import { UPLOAD_QUEUE } from './upload-job.ts';

type Call = UploadCall & { readonly op: string; readonly attributes?: JsonValue };

/** A backend that remembers op ids and does no upload twice. */
class Backend implements Adapter {
  readonly calls: Call[] = [];
  readonly effects: string[] = [];
  readonly #done = new Map<string, string>();
  /** Called before the upload takes effect. */
  onCall: (call: Call) => void = () => undefined;
  /** Called between the effect and the answer. */
  onDone: (call: Call) => Promise<void> = async () => undefined;
  /** Whether objects keep the ids that devices have given them. */
  keepsIds = false;
  #next = 100;

  query = async () => ({ objects: {} });
  create = (call: UploadCall & { attributes: JsonValue }) => this.#perform({ op: 'create', ...call });
  update = async (call: UploadCall & { attributes: JsonValue }) =>
    void (await this.#perform({ op: 'update', ...call }));
  delete = async (call: UploadCall) => void (await this.#perform({ op: 'delete', ...call }));

  async #perform(call: Call): Promise<string> {
    this.calls.push(call);
    this.onCall(call);
    const known = this.#done.get(call.opId);
    if (known !== undefined) return known;
    const id = call.op === 'create' && !this.keepsIds ? String(this.#next++) : call.id;
    this.#done.set(call.opId, id);
    this.effects.push(`${call.op} ${call.source} ${call.id}`);
    await this.onDone(call);
    return id;
  }
}

/** The note with the first upload of a test while its job waits. */
const UPLOAD_NOTE = { kind: 'upload', key: 'op-1' } as const;

/** A store that calls `overtaking.act` once, right before the first commit for which `isMeant` is true. */
function overtakenStore(isMeant: (commit: Commit) => boolean = () => true) {
  const memory = openMemoryStore({ random: seededRandom(6) });
  const overtaking: { act: (() => Promise<unknown>) | null } = { act: null };
  const commit = async (given: Commit) => {
    const { act } = overtaking;
    if (act !== null && isMeant(given)) {
      overtaking.act = null;
      await act();
    }
    return memory.commit(given);
  };
  const store = new Proxy(memory, {
    get: (engine, name) => {
      const member: unknown = name === 'commit' ? commit : Reflect.get(engine, name, engine);
      return typeof member === 'function' ? member.bind(engine) : member;
    },
  });
  return { store, overtaking };
}

/** A store that lists its calls about notes and objects. */
function recordingStore() {
  const memory = openMemoryStore({ random: seededRandom(7) });
  const calls: string[] = [];
  const store = new Proxy(memory, {
    get: (engine, name) => {
      const member: unknown = Reflect.get(engine, name, engine);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (['readNotes', 'listNotes', 'readObjects', 'commit'].includes(String(name))) calls.push(String(name));
        return Reflect.apply(member, engine, args) as unknown;
      };
    },
  });
  return { store, calls };
}

const down = () => {
  throw new Refusal('backend_unavailable', 'nobody there');
};

async function setUp(attributes: Record<string, unknown> = {}, store?: Store) {
  const clock = settableClock();
  const jobs = openMemoryJobs({ clock });
  const backend = new Backend();
  const adapters = { find: (name: string) => (name === 'backend' ? backend : null) };
  const { tidemark, log } = await newTidemark({ adapters, jobs, clock, ...(store === undefined ? {} : { store }) });
  await tidemark.sources.declare({ name: 'Customer', adapter: 'backend', poll_interval: -1, ...attributes });
  const references = { customer_id: 'Customer' };
  await tidemark.sources.declare({ name: 'Visit', adapter: 'backend', poll_interval: -1, references, ...attributes });
  const client = (await tidemark.clients.register('ada', {})).client_id;
  const device = { user: 'ada', client };
  const recipients: string[] = [];
  tidemark.events.on('outcome', ({ client: one }) => recipients.push(one));
  let count = 0;
  const upload = (op: Upload['op'], id: string, values?: Record<string, unknown>, source = 'Customer'): Upload => {
    return { op_id: `op-${++count}`, source, op, id, ...(values === undefined ? {} : { attributes: values }) };
  };
  const push = (...changes: Upload[]) => tidemark.devices.push(device, { changes });
  const md = async (source = 'Customer') => Object.fromEntries(await tidemark.objects.read({ source, user_id: 'ada' }));
  /** Runs due jobs as the runner would. Returns the messages of those that failed. */
  const work = async (queue = UPLOAD_QUEUE, roundsMax = 100) => {
    const failures: string[] = [];
    for (let round = 0; round < roundsMax; round++) {
      const job = await jobs.lease(queue, 60_000);
      if (job === null) return failures;
      const end = await runJob(job);
      if (end === null) await jobs.acknowledge(job);
      else if (end.isFinal) await jobs.bury(job, end.message);
      else await jobs.retry(job, clock.nowMs() + 10_000, end.message);
      if (end !== null) failures.push(end.message);
    }
    throw new Error('the jobs do not end');
  };
  const runJob = (job: LeasedJob) =>
    tidemark.devices.runUpload(job).then(
      () => null,
      (error: unknown) => {
        if (error instanceof JobFailure) return error;
        throw error;
      },
    );
  const waiting = async () => {
    const sources = new Map(['Customer', 'Visit'].map((name) => [name, null]));
    return (await tidemark.devices.pull(device, { sources })).outcomes;
  };
  return { tidemark, backend, jobs, clock, log, device, upload, push, md, work, waiting, recipients };
}

const brief = (outcomes: readonly Outcome[]) =>
  outcomes.map(({ op_id, status, id, error }) => [op_id, status, id, ...(error === undefined ? [] : [error.code])]);

describe('uploads to a backend, in the request', () => {
  it('[UPBACK-15] an upload tells the backend who made the change, whether the data is the user’s own or shared', async () => {
    for (const partition_type of ['user', 'app']) {
      const { push, upload, backend } = await setUp({ partition_type });
      await push(
        upload('create', 'tmp', { name: 'Ann' }),
        upload('update', 'tmp', { vip: true }),
        upload('delete', 'tmp'),
      );
      expect(backend.calls.map(({ op, user }) => [op, user])).toEqual([
        ['create', 'ada'],
        ['update', 'ada'],
        ['delete', 'ada'],
      ]);
    }
  });

  it('[UPBACK-1] an upload is committed when the backend agrees, under the id it gives, and later uploads follow the link', async () => {
    const { push, upload, md, backend, device, jobs } = await setUp();
    const outcomes = await push(
      upload('create', 'tmp', { name: 'Ann' }),
      upload('update', 'tmp', { name: 'Anne' }),
      upload('create', 'other', { name: 'Bob' }),
    );
    expect(brief(outcomes)).toEqual([
      ['op-1', 'applied', '100'],
      ['op-2', 'applied', '100'],
      ['op-3', 'applied', '101'],
    ]);
    expect(await md()).toEqual({ '100': { name: 'Anne' }, '101': { name: 'Bob' } });
    expect(brief(await push(upload('update', 'tmp', { vip: true }), upload('delete', '101')))).toEqual([
      ['op-4', 'applied', '100'],
      ['op-5', 'applied', '101'],
    ]);
    expect(await md()).toEqual({ '100': { name: 'Anne', vip: true } });
    expect(backend.effects).toEqual([
      'create Customer tmp',
      'create Customer other',
      'update Customer 100',
      'update Customer 100',
      'delete Customer 101',
    ]);
    expect(backend.calls[0]).toMatchObject({ opId: `${device.client}:op-1`, user: 'ada', attributes: { name: 'Ann' } });
    expect(await jobs.queues()).toEqual([]);
  });

  it('[UPBACK-2] temporary ids in references are replaced across sources, also when one push mixes the sources', async () => {
    const { push, upload, md, backend } = await setUp();
    await push(
      upload('create', 'v0', { at: 'noon' }, 'Visit'),
      upload('create', 'tmp', { name: 'Ann' }),
      upload('create', 'v1', { customer_id: 'tmp', note: 'tmp' }, 'Visit'),
      upload('update', 'v0', { customer_id: ['tmp', 'else'] }, 'Visit'),
    );
    expect(await md('Visit')).toEqual({
      '100': { at: 'noon', customer_id: ['101', 'else'] },
      '102': { customer_id: '101', note: 'tmp' },
    });
    expect(backend.calls.at(-2)).toMatchObject({ op: 'create', attributes: { customer_id: '101', note: 'tmp' } });
  });

  it('[UPBACK-3] a 409 of the backend is a conflict and another refusal a rejection, each sent with the current object', async () => {
    const { push, upload, backend, md, tidemark } = await setUp();
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { name: 'Ann' } } });
    backend.onCall = () => {
      throw new AdapterRefusal('conflict', 'changed in the office');
    };
    const [conflict] = await push(upload('update', '1', { name: 'Bob' }));
    expect(conflict).toEqual({
      op_id: 'op-1',
      source: 'Customer',
      status: 'conflict',
      id: '1',
      error: { code: 'object_changed', detail: 'changed in the office' },
      current: { name: 'Ann' },
    });
    backend.onCall = () => {
      throw new AdapterRefusal('rejected', 'no such street');
    };
    const [rejected] = await push(upload('update', '1', { street: '?' }));
    expect(rejected).toMatchObject({
      status: 'rejected',
      error: { code: 'upload_rejected', detail: 'no such street' },
    });
    expect(await md()).toEqual({ '1': { name: 'Ann' } });
  });

  it('[UPBACK-4] uploads that depend on a rejected create get dependency_rejected, and other uploads are applied', async () => {
    const { push, upload, backend, md } = await setUp();
    backend.onCall = ({ source, id }) => {
      if (source === 'Customer' && id === 'bad') throw new AdapterRefusal('rejected', 'no');
    };
    const outcomes = await push(
      upload('create', 'bad', { name: 'X' }),
      upload('update', 'bad', { name: 'Y' }),
      upload('create', 'v1', { customer_id: 'bad' }, 'Visit'),
      upload('update', 'v1', { note: 1 }, 'Visit'),
      upload('create', 'good', { name: 'G' }),
    );
    expect(brief(outcomes)).toEqual([
      ['op-1', 'rejected', 'bad', 'upload_rejected'],
      ['op-2', 'rejected', 'bad', 'dependency_rejected'],
      ['op-3', 'rejected', 'v1', 'dependency_rejected'],
      ['op-4', 'rejected', 'v1', 'dependency_rejected'],
      ['op-5', 'applied', '100'],
    ]);
    expect(backend.calls.length).toBe(2);
    expect(await md('Visit')).toEqual({});
  });

  it('[UPBACK-5] a repeated upload gets the same outcome, and the backend is not asked again', async () => {
    const { push, upload, backend } = await setUp();
    const create = upload('create', 'tmp', { name: 'Ann' });
    const first = await push(create);
    expect(await push(create, create)).toEqual([...first, ...first]);
    expect(backend.calls.length).toBe(1);
  });

  it('[UPBACK-5] after a crash between the answer of the backend and the commit, the backend is asked again with the same op id', async () => {
    const memory = openMemoryStore({ random: seededRandom(5) });
    let mayCommit = true;
    const commit = (given: Commit) =>
      mayCommit ? memory.commit(given) : Promise.reject(new Refusal('store_unavailable', 'the power is gone'));
    const store = new Proxy(memory, {
      get: (engine, name) => {
        const member: unknown = name === 'commit' ? commit : Reflect.get(engine, name, engine);
        return typeof member === 'function' ? member.bind(engine) : member;
      },
    });
    const { push, upload, backend, md } = await setUp({}, store);
    const create = upload('create', 'tmp', { name: 'Ann' });
    backend.onCall = () => {
      mayCommit = false;
    };
    await expect(push(create)).rejects.toMatchObject({ code: 'store_unavailable' });
    backend.onCall = () => undefined;
    mayCommit = true;
    expect(await md()).toEqual({});
    expect(brief(await push(create))).toEqual([['op-1', 'applied', '100']]);
    expect([backend.calls.length, backend.effects.length]).toEqual([2, 1]);
    expect(new Set(backend.calls.map(({ opId }) => opId)).size).toBe(1);
    expect(await md()).toEqual({ '100': { name: 'Ann' } });
  });

  it('[UPBACK-6] uploads to a source whose adapter is missing are queued', async () => {
    const { push, upload, md, tidemark } = await setUp();
    await tidemark.sources.declare({ name: 'Lost', adapter: 'nowhere', poll_interval: -1 });
    expect(brief(await push(upload('create', '1', { a: 1 }, 'Lost')))).toEqual([['op-1', 'queued', '1']]);
    expect(await md('Lost')).toEqual({});
  });
});

describe('uploads while the backend is in trouble', () => {
  it('[UPBACK-7] uploads are queued when the backend is in trouble, nothing overtakes them, and they block no other object', async () => {
    const { push, upload, backend, md, work, waiting, clock, recipients, tidemark } = await setUp();
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { n: 0 }, '2': { n: 0 } } });
    backend.onCall = ({ id }) => {
      if (id === '1') down();
    };
    expect(brief(await push(upload('update', '1', { n: 1 }), upload('update', '1', { n: 2 })))).toEqual([
      ['op-1', 'queued', '1'],
      ['op-2', 'queued', '1'],
    ]);
    expect(backend.calls.length).toBe(1);
    // In the next call, an update of the same object is queued, too, and one of another object is not.
    expect(brief(await push(upload('update', '1', { n: 3 }), upload('update', '2', { n: 1 })))).toEqual([
      ['op-3', 'queued', '1'],
      ['op-4', 'applied', '2'],
    ]);
    expect(await work()).toEqual(['nobody there']);
    expect(await md()).toEqual({ '1': { n: 0 }, '2': { n: 1 } });
    expect(brief(await waiting())).toContainEqual(['op-1', 'queued', '1']);

    backend.onCall = () => undefined;
    clock.advance(10_000);
    expect(await work()).toEqual([]);
    expect(await md()).toEqual({ '1': { n: 3 }, '2': { n: 1 } });
    expect(backend.effects.slice(1)).toEqual(['update Customer 1', 'update Customer 1', 'update Customer 1']);
    expect((await waiting()).map(({ status }) => status)).toEqual(['applied', 'applied', 'applied', 'applied']);
    expect(recipients.length).toBe(3);
  });

  it('[UPBACK-8] an upload is set aside after a day, rejected with those that depend on it, and can be revived', async () => {
    const { push, upload, backend, md, work, waiting, clock, jobs } = await setUp();
    backend.onCall = down;
    await push(upload('create', 'tmp', { name: 'Ann' }), upload('update', 'tmp', { name: 'Anne' }));
    clock.advance(UPLOAD_GIVE_UP_MS - 1);
    expect(await work()).toEqual(['nobody there']);
    expect(brief(await waiting())).toEqual([
      ['op-1', 'queued', 'tmp'],
      ['op-2', 'queued', 'tmp'],
    ]);
    clock.advance(10_000);
    expect(await work()).toEqual(['nobody there']);
    expect(brief(await waiting())).toEqual([
      ['op-1', 'rejected', 'tmp', 'backend_unavailable'],
      ['op-2', 'rejected', 'tmp', 'dependency_rejected'],
    ]);
    const { jobs: dead } = await jobs.inspect(UPLOAD_QUEUE, 'dead', { limit: 10 });
    expect(dead.map(({ lastReason }) => lastReason)).toEqual(['nobody there']);

    backend.onCall = () => undefined;
    expect(await jobs.revive(UPLOAD_QUEUE, dead[0]?.id ?? '')).toBe(true);
    expect(await work()).toEqual([]);
    expect(await md()).toEqual({ '100': { name: 'Ann' } });
    expect(brief(await waiting())[0]).toEqual(['op-1', 'applied', '100']);
    expect(backend.effects).toEqual(['create Customer tmp']);
  });

  it('[UPBACK-8] an upload that was acknowledged as rejected and then revived has its new outcome sent', async () => {
    const { push, upload, backend, work, waiting, clock, jobs, device, tidemark } = await setUp();
    backend.onCall = down;
    await push(upload('create', 'tmp', { name: 'Ann' }));
    clock.advance(UPLOAD_GIVE_UP_MS);
    await work();
    const acknowledged = new Map([['Customer', ['op-1']]]);
    await tidemark.devices.pull(device, { sources: new Map([['Customer', null]]), acknowledged });
    expect(await waiting()).toEqual([]);
    backend.onCall = () => undefined;
    const { jobs: dead } = await jobs.inspect(UPLOAD_QUEUE, 'dead', { limit: 10 });
    await jobs.revive(UPLOAD_QUEUE, dead[0]?.id ?? '');
    await work();
    expect(brief(await waiting())).toEqual([['op-1', 'applied', '100']]);
  });

  it('[UPBACK-9] the message of an error that an adapter throws is logged and not sent to devices', async () => {
    const { push, upload, backend, work, waiting, clock, log } = await setUp();
    backend.onCall = () => {
      throw new Error('password of the database: hunter2');
    };
    await push(upload('create', 'tmp', { name: 'Ann' }));
    clock.advance(UPLOAD_GIVE_UP_MS);
    await work();
    expect((await waiting())[0]?.error).toEqual({ code: 'backend_error', detail: 'the adapter of the source failed' });
    expect(log.lines.some(({ fields }) => String(fields.reason).includes('hunter2'))).toBe(true);
  });
});

describe('uploads to a source with a queue', () => {
  it('[UPBACK-10] all uploads to a source with a queue become jobs, in order per object, and follow links', async () => {
    const { push, upload, backend, md, work, waiting, jobs } = await setUp({ cud_queue: 'office' });
    const outcomes = await push(
      upload('create', 'tmp', { name: 'Ann' }),
      upload('create', 'v1', { customer_id: 'tmp' }, 'Visit'),
      upload('update', 'tmp', { name: 'Anne' }),
      upload('update', 'v1', { note: 1 }, 'Visit'),
      upload('delete', 'tmp'),
    );
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['queued']));
    expect([backend.calls.length, (await jobs.describe('office')).counts]).toEqual([
      0,
      { due: 2, delayed: 0, waiting: 3, leased: 0, dead: 0 },
    ]);
    expect(await work('office')).toEqual([]);
    expect(await md()).toEqual({});
    expect(await md('Visit')).toEqual({ '101': { customer_id: '100', note: 1 } });
    expect(brief(await waiting())).toEqual([
      ['op-1', 'applied', '100'],
      ['op-3', 'applied', '100'],
      ['op-5', 'applied', '100'],
      ['op-2', 'applied', '101'],
      ['op-4', 'applied', '101'],
    ]);
  });

  it('[UPBACK-10] uploads go to `queue` when the source has no cud_queue', async () => {
    const { push, upload, jobs } = await setUp({ queue: 'both' });
    await push(upload('create', 'tmp', { name: 'Ann' }));
    expect((await jobs.describe('both')).counts.due).toBe(1);
  });

  it('[UPBACK-11] a job whose upload refers to an object that the backend has not named yet waits for it', async () => {
    const { push, upload, backend, md, work, clock, jobs } = await setUp({ cud_queue: 'office' });
    backend.onCall = ({ source }) => {
      if (source === 'Customer') down();
    };
    await push(upload('create', 'tmp', { name: 'Ann' }), upload('create', 'v1', { customer_id: 'tmp' }, 'Visit'));
    expect(await work('office')).toEqual(['nobody there', 'it names an object that the backend has not named yet']);
    expect(backend.calls.map(({ source }) => source)).toEqual(['Customer']);
    backend.onCall = () => undefined;
    clock.advance(10_000);
    await work('office');
    expect(await md('Visit')).toEqual({ '101': { customer_id: '100' } });
    expect((await jobs.describe('office')).counts.due).toBe(0);
  });

  it('[UPBACK-11] a job that has waited for a day is set aside, and its upload is rejected', async () => {
    const { push, upload, work, clock, tidemark, waiting } = await setUp({ cud_queue: 'office' });
    await tidemark.sources.update('Customer', { cud_queue: 'paused' });
    await push(upload('create', 'tmp', { n: 0 }), upload('create', 'v1', { customer_id: 'tmp' }, 'Visit'));
    clock.advance(UPLOAD_GIVE_UP_MS);
    expect(await work('office')).toEqual(['it names an object that the backend has not named yet']);
    expect(brief(await waiting())).toEqual([
      ['op-1', 'queued', 'tmp'],
      ['op-2', 'rejected', 'v1', 'backend_unavailable'],
    ]);
  });

  it('[EXPLAIN-8] an upload that is queued explains its object, also when an earlier one was applied after it was queued', async () => {
    const { push, upload, backend, work, clock, tidemark, device } = await setUp({ cud_queue: 'office' });
    backend.keepsIds = true;
    backend.onCall = ({ op }) => {
      if (op === 'update') down();
    };
    await push(upload('create', '1', { n: 1 }), upload('update', '1', { n: 2 }));
    clock.advance(1);
    expect(await work('office')).toEqual(['nobody there']);
    expect(await tidemark.delivery.explain(device.client, 'Customer', '1')).toMatchObject({
      ...{ verdict: 'upload_queued', evidence: { upload: { status: 'queued', error: null } } },
    });
  });

  it('[UPBACK-12] an upload under the new id does not overtake queued uploads under the temporary id', async () => {
    const { push, upload, backend, md, work, clock } = await setUp({ cud_queue: 'office' });
    backend.onCall = ({ op }) => {
      if (op === 'update') down();
    };
    await push(upload('create', 'tmp', { n: 0 }), upload('update', 'tmp', { n: 1 }));
    expect(await work('office')).toEqual(['nobody there']);
    backend.onCall = () => undefined;
    await push(upload('update', '100', { n: 2 }));
    expect(await work('office')).toEqual([]);
    clock.advance(10_000);
    await work('office');
    expect(await md()).toEqual({ '100': { n: 2 } });
    expect(backend.effects.length).toBe(3);
  });

  it('[UPBACK-13] a job that runs twice, or whose device was deleted, asks the backend no second time', async () => {
    const { push, upload, backend, jobs, tidemark, device } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 0 }), upload('create', 'tmp2', { n: 0 }));
    const job = (await jobs.lease('office', 60_000)) as LeasedJob;
    await tidemark.devices.runUpload(job);
    await tidemark.devices.runUpload(job);
    expect(backend.calls.length).toBe(1);
    await tidemark.clients.delete(device.user, device.client);
    await tidemark.devices.runUpload((await jobs.lease('office', 60_000)) as LeasedJob);
    expect(backend.calls.length).toBe(1);
  });

  it('[UPBACK-13] a backend slower than the lease of its job is asked twice, and the upload has one effect and one outcome', async () => {
    const { push, upload, backend, jobs, tidemark, clock, md, waiting } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 0 }));
    const { create } = backend;
    let answer: () => void = () => undefined;
    backend.create = async (call) => {
      const id = await create(call);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return id;
    };
    const slow = (await jobs.lease('office', 1_000)) as LeasedJob;
    const running = tidemark.devices.runUpload(slow);
    while (backend.calls.length === 0) await Promise.resolve();
    clock.advance(1_000);
    backend.create = create;
    const again = (await jobs.lease('office', 1_000)) as LeasedJob;
    await tidemark.devices.runUpload(again);
    expect(await jobs.acknowledge(again)).toBe(true);
    answer();
    await running;
    expect(await jobs.acknowledge(slow)).toBe(false);
    expect(new Set(backend.calls.map(({ opId }) => opId)).size).toBe(1);
    expect([backend.calls.length, backend.effects]).toEqual([2, ['create Customer tmp']]);
    expect(await md()).toEqual({ '100': { n: 0 } });
    expect(brief(await waiting())).toEqual([['op-1', 'applied', '100']]);
  });
});

describe('races and lost answers of uploads to a backend', () => {
  it('[UPBACK-16] an update under the new id waits for a queued update under the temporary id', async () => {
    const { push, upload, backend, md, work, clock } = await setUp();
    await push(upload('create', 'tmp', { n: 'made' }));
    backend.onCall = down;
    expect(brief(await push(upload('update', '100', { n: 'first' })))).toEqual([['op-2', 'queued', '100']]);
    backend.onCall = () => undefined;
    expect(brief(await push(upload('update', '100', { n: 'second' })))).toEqual([['op-3', 'queued', '100']]);
    clock.advance(10_000);
    await work();
    expect(await md()).toEqual({ '100': { n: 'second' } });
    expect(backend.calls.at(-1)).toMatchObject({ attributes: { n: 'second' } });
  });

  it('[UPBACK-16] an update waits for a queued update of the same object although the backend has recovered', async () => {
    const { push, upload, backend, md, work, clock, tidemark } = await setUp();
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { n: 0 }, '2': { n: 0 } } });
    backend.onCall = down;
    await push(upload('update', '1', { n: 1 }));
    backend.onCall = () => undefined;
    expect(brief(await push(upload('update', '1', { n: 2 }), upload('update', '2', { n: 2 })))).toEqual([
      ['op-2', 'queued', '1'],
      ['op-3', 'applied', '2'],
    ]);
    clock.advance(10_000);
    await work();
    expect(await md()).toEqual({ '1': { n: 2 }, '2': { n: 2 } });
  });

  it('[UPBACK-17] a create whose answer was lost after the backend pushed the object is applied', async () => {
    const { push, upload, backend, md, work, clock, waiting, tidemark } = await setUp();
    backend.keepsIds = true;
    backend.onDone = async ({ id }) => {
      await tidemark.objects.push({
        source: 'Customer',
        user_id: 'ada',
        objects: { [id]: { name: 'Ann', vip: true } },
      });
      down();
    };
    expect(brief(await push(upload('create', 'tmp', { name: 'Ann' })))).toEqual([['op-1', 'queued', 'tmp']]);
    backend.onDone = async () => undefined;
    clock.advance(10_000);
    await work();
    expect(brief(await waiting())).toEqual([['op-1', 'applied', 'tmp']]);
    expect(await md()).toEqual({ tmp: { name: 'Ann', vip: true } });
    expect(backend.effects).toEqual(['create Customer tmp']);
  });

  it('[UPBACK-17] a create that arrives twice at once while the backend pushes the object is applied', async () => {
    const { push, upload, backend, tidemark } = await setUp();
    backend.keepsIds = true;
    const create = upload('create', 'tmp', { name: 'Ann' });
    let second: Promise<readonly Outcome[]> | undefined;
    backend.onDone = async ({ id }) => {
      if (second !== undefined) return;
      await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { [id]: { name: 'Ann' } } });
      second = push(create);
      await second;
    };
    expect(brief(await push(create))).toEqual([['op-1', 'applied', 'tmp']]);
    expect(brief((await second) ?? [])).toEqual([['op-1', 'applied', 'tmp']]);
  });

  it('[UPBACK-18] after a rejected create, the device can change and refer to an object of that id once there is one', async () => {
    const { push, upload, backend, md, tidemark } = await setUp();
    backend.keepsIds = true;
    backend.onCall = ({ op, source, id }) => {
      if (op === 'create' && source === 'Customer') throw new AdapterRefusal('conflict', `there is already ${id}`);
    };
    const [, early] = await push(upload('create', '7', { name: 'Ann' }), upload('update', '7', { name: 'Anne' }));
    expect(early?.error?.code).toBe('dependency_rejected');
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '7': { name: 'Bob' } } });
    expect(
      brief(
        await push(
          upload('update', '7', { vip: true }),
          upload('create', 'v', { customer_id: '7' }, 'Visit'),
          upload('create', 'w', { customer_id: ['8', '7'] }, 'Visit'),
        ),
      ),
    ).toEqual([
      ['op-3', 'applied', '7'],
      ['op-4', 'applied', 'v'],
      ['op-5', 'applied', 'w'],
    ]);
    expect(await md()).toEqual({ '7': { name: 'Bob', vip: true } });
    expect(brief(await push(upload('delete', '7')))).toEqual([['op-6', 'applied', '7']]);
    expect(await md()).toEqual({});
  });

  it('[UPBACK-18] a deletion whose answer was lost is applied, also under an id whose create was rejected', async () => {
    const { push, upload, backend, work, clock, waiting, tidemark } = await setUp();
    const at = { source: 'Customer', user_id: 'ada' };
    await tidemark.objects.push({ ...at, objects: { '7': { name: 'Bob' } } });
    backend.onCall = ({ op }) => {
      if (op === 'create') throw new AdapterRefusal('conflict', 'it exists');
    };
    backend.onDone = async ({ id }) => {
      await tidemark.objects.pushDeletes({ ...at, objects: [id] });
      down();
    };
    const outcomes = await push(upload('create', '7', { name: 'Ann' }), upload('delete', '7'));
    expect(outcomes.map(({ status }) => status)).toEqual(['conflict', 'queued']);
    clock.advance(10_000);
    await work();
    expect(brief(await waiting())).toContainEqual(['op-2', 'applied', '7']);
    expect(backend.effects).toEqual(['delete Customer 7']);
  });

  it('[UPBACK-19] a queued upload of a deleted user is not done for the next user of the login and device id', async () => {
    const { push, upload, backend, md, work, clock, waiting, tidemark, device } = await setUp();
    backend.onCall = down;
    await push(upload('create', 'tmp', { secret: 'of the first ada' }));
    await tidemark.users.delete('ada');
    await tidemark.users.create({ attributes: { login: 'ada', password: 'open sesame' } });
    await tidemark.clients.register('ada', { client_id: device.client });
    backend.onCall = () => undefined;
    const before = backend.calls.length;
    clock.advance(10_000);
    expect(await work()).toEqual([]);
    expect([backend.calls.length - before, await md(), await waiting()]).toEqual([0, {}, []]);
  });

  it('[UPBACK-19] a push under way is not finished for the next user of the login and device id', async () => {
    const { push, upload, backend, md, waiting, tidemark, device } = await setUp();
    const remake = async () => {
      await tidemark.users.delete('ada');
      await tidemark.users.create({ attributes: { login: 'ada', password: 'open sesame' } });
      await tidemark.clients.register('ada', { client_id: device.client });
    };
    backend.onDone = remake;
    const create = upload('create', 'tmp', { secret: 'of the first ada' });
    await expect(push(create)).rejects.toMatchObject({ code: 'client_not_found' });
    backend.onDone = async () => {
      await remake();
      down();
    };
    await expect(push(upload('create', 'tmp', { n: 2 }))).rejects.toMatchObject({ code: 'client_not_found' });
    expect([await md(), await waiting()]).toEqual([{}, []]);
  });

  it('[UPBACK-19] a push whose token was revoked after it was checked is refused', async () => {
    const { upload, backend, tidemark, device } = await setUp();
    const { id, token } = await tidemark.tokens.issue({ ...device, scopes: ['device'], expiresAtMs: null });
    const caller = { ...device, tokenHash: tokenHash(token) };
    const push = (...changes: Upload[]) => tidemark.devices.push(caller, { changes });
    expect(brief(await push(upload('create', 'tmp', { n: 1 })))).toEqual([['op-1', 'applied', '100']]);
    await tidemark.tokens.revoke(id);
    await expect(push(upload('create', 'tmp2', { n: 2 }))).rejects.toMatchObject({ code: 'token_invalid' });
    expect(backend.calls.length).toBe(1);
  });

  it('[UPBACK-19] a queued upload of a deleted device is not done for the next device of its id', async () => {
    const { push, upload, backend, md, work, tidemark, device } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 1 }));
    await tidemark.clients.delete('ada', device.client);
    await tidemark.clients.register('ada', { client_id: device.client });
    await work('office');
    expect([backend.calls, await md()]).toEqual([[], {}]);
  });

  it('[UPBACK-20] jobs contain no attributes and no login, and the note with the upload is erased with the user', async () => {
    const { push, upload, backend, work, clock, jobs, tidemark, device } = await setUp();
    backend.onCall = down;
    await push(upload('create', 'tmp', { secret: 'a person wrote this' }));
    clock.advance(UPLOAD_GIVE_UP_MS);
    await work();
    const kept = () => tidemark.store.readNotes(userPartition('Customer', 'ada'), device.client, [UPLOAD_NOTE]);
    expect((await kept()).map(({ text }) => text.includes('a person wrote this'))).toEqual([true]);
    await tidemark.users.delete('ada');
    expect(await kept()).toEqual([]);
    const { jobs: dead } = await jobs.inspect(UPLOAD_QUEUE, 'dead', { limit: 10 });
    expect(dead.length).toBe(1);
    await jobs.revive(UPLOAD_QUEUE, dead[0]?.id ?? '');
    const { payload = '' } = (await jobs.lease(UPLOAD_QUEUE, 60_000)) ?? {};
    expect([payload.includes('person'), payload.includes('ada')]).toEqual([false, false]);
  });

  it('[UPBACK-20] the note with the upload is removed when the job is done', async () => {
    const { push, upload, work, tidemark, device } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 1 }));
    const kept = () => tidemark.store.readNotes(userPartition('Customer', 'ada'), device.client, [UPLOAD_NOTE]);
    expect((await kept()).length).toBe(1);
    await work('office');
    expect(await kept()).toEqual([]);
  });

  it('[UPBACK-22] an upload that was set aside is tried again neither by another job of it nor when it is repeated', async () => {
    const { push, upload, backend, work, clock, waiting } = await setUp();
    backend.onCall = down;
    const create = upload('create', 'tmp', { n: 1 });
    // Both requests arrive before either outcome is written, so there are two jobs.
    await Promise.all([push(create), push(create)]);
    clock.advance(UPLOAD_GIVE_UP_MS);
    let calls = 0;
    backend.onCall = () => {
      calls++;
      if (calls === 1) down();
    };
    await work();
    expect([calls, brief(await waiting())]).toEqual([1, [['op-1', 'rejected', 'tmp', 'backend_unavailable']]]);
    expect(brief(await push(create))).toEqual([['op-1', 'rejected', 'tmp', 'backend_unavailable']]);
    expect(backend.effects).toEqual([]);
  });

  it('[UPBACK-23] an update and a deletion do not wait for a later create of the same id', async () => {
    const { push, upload, backend, md, work, tidemark } = await setUp({ cud_queue: 'office' });
    backend.keepsIds = true;
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '7': { n: 0 } } });
    await push(upload('update', '7', { n: 1 }), upload('delete', '7'), upload('create', '7', { n: 2 }));
    expect(await work('office')).toEqual([]);
    expect(await md()).toEqual({ '7': { n: 2 } });
    expect(backend.effects).toEqual(['update Customer 7', 'delete Customer 7', 'create Customer 7']);
  });

  it('[UPBACK-23] an update waits for the create of its object in another queue', async () => {
    const { push, upload, md, work, tidemark } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 1 }));
    await tidemark.sources.update('Customer', { cud_queue: 'other' });
    await push(upload('update', 'tmp', { n: 2 }));
    expect(await work('other')).toEqual(['it names an object that the backend has not named yet']);
    await work('office');
    expect(await md()).toEqual({ '100': { n: 1 } });
  });

  it.each([false, true])(
    '[UPBACK-24] nothing waits for a create that was done while another request queued it (backend keeps ids: %s)',
    async (keepsIds) => {
      const isLeaving = ({ notes }: Commit) => notes?.writes.some(({ text }) => text?.includes('pending')) === true;
      const { store, overtaking } = overtakenStore(isLeaving);
      const { push, upload, backend, md, work } = await setUp({}, store);
      backend.keepsIds = keepsIds;
      const id = keepsIds ? 'tmp' : '100';
      const create = upload('create', 'tmp', { n: 1 });
      backend.onCall = down;
      overtaking.act = async () => {
        backend.onCall = () => undefined;
        await push(create);
      };
      expect(brief(await push(create))).toEqual([['op-1', 'applied', id]]);
      if (!keepsIds) expect(brief(await push(upload('update', 'tmp', { n: 0 })))).toEqual([['op-2', 'applied', id]]);
      await work();
      const later = await push(
        upload('update', 'tmp', { n: 2 }),
        upload('create', 'v', { customer_id: 'tmp' }, 'Visit'),
      );
      expect(later.map(({ status }) => status)).toEqual(['applied', 'applied']);
      expect([await md(), Object.values(await md('Visit'))]).toEqual([{ [id]: { n: 2 } }, [{ customer_id: id }]]);
    },
  );

  it('[UPBACK-24] an upload that the backend refuses while another request queues it stays refused', async () => {
    const isLeaving = ({ notes }: Commit) => notes?.writes.some(({ text }) => text?.includes('pending')) === true;
    const { store, overtaking } = overtakenStore(isLeaving);
    const { push, upload, backend, work } = await setUp({}, store);
    const create = upload('create', 'tmp', { n: 1 });
    backend.onCall = down;
    overtaking.act = async () => {
      backend.onCall = () => {
        throw new AdapterRefusal('rejected', 'no');
      };
      await push(create);
    };
    expect(brief(await push(create))).toEqual([['op-1', 'rejected', 'tmp', 'upload_rejected']]);
    await work();
    expect(brief(await push(upload('update', 'tmp', { n: 2 })))).toEqual([
      ['op-2', 'rejected', 'tmp', 'dependency_rejected'],
    ]);
  });

  it('[UPBACK-25] an upload to a backend reads its notes and its object once, and again after a conflict', async () => {
    const { store, calls } = recordingStore();
    const { push, upload, backend, tidemark, md } = await setUp({}, store);
    const at = { source: 'Customer', user_id: 'ada' };
    await tidemark.objects.push({ ...at, objects: { '1': { n: 0 } } });
    calls.length = 0;
    await push(upload('update', '1', { n: 1 }));
    expect(calls).toEqual(['listNotes', 'readNotes', 'readObjects', 'commit']);
    backend.onDone = async () => {
      await tidemark.objects.push({ ...at, objects: { '1': { m: 1 } } });
      calls.length = 0;
    };
    await push(upload('update', '1', { n: 2 }));
    expect(calls).toEqual(['commit', 'readNotes', 'readObjects', 'commit']);
    expect(await md()).toEqual({ '1': { n: 2, m: 1 } });
  });

  it('[UPBACK-21] an outcome that the device acknowledged while the backend was asked again is not sent again', async () => {
    const { push, upload, backend, tidemark, device, waiting } = await setUp();
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { n: 0 } } });
    const update = upload('update', '1', { n: 0 });
    backend.onDone = async () => {
      backend.onDone = async () => undefined;
      await push(update);
      const acknowledged = new Map([['Customer', ['op-1']]]);
      await tidemark.devices.pull(device, { sources: new Map([['Customer', null]]), acknowledged });
    };
    expect(brief(await push(update))).toEqual([['op-1', 'applied', '1']]);
    expect(await waiting()).toEqual([]);
  });

  it('[UPBACK-21] an upload that was applied meanwhile is not set aside', async () => {
    const { push, upload, backend, jobs, tidemark, clock, waiting } = await setUp({ cud_queue: 'office' });
    await push(upload('create', 'tmp', { n: 0 }));
    const { create } = backend;
    let answer: () => void = () => undefined;
    backend.create = async (call) => {
      const id = await create(call);
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return id;
    };
    const running = tidemark.devices.runUpload((await jobs.lease('office', 1_000)) as LeasedJob);
    while (backend.effects.length === 0) await Promise.resolve();
    clock.advance(UPLOAD_GIVE_UP_MS);
    backend.create = async () => {
      answer();
      await running;
      return down();
    };
    const again = tidemark.devices.runUpload((await jobs.lease('office', 1_000)) as LeasedJob);
    await expect(again).rejects.toMatchObject({ isFinal: true });
    expect(brief(await waiting())).toEqual([['op-1', 'applied', '100']]);
  });

  it('[UPBACK-21] the answer written first counts when the backend answers one upload twice', async () => {
    const { push, upload, backend, md, tidemark } = await setUp();
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { n: 0 } } });
    const update = upload('update', '1', { n: 1 });
    const later = upload('update', '1', { n: 2 });
    let again: readonly Outcome[] = [];
    // While the first request waits for its answer, the device gives up, repeats the upload and goes on.
    backend.onDone = async () => {
      backend.onDone = async () => undefined;
      again = await push(update, later);
    };
    const first = await push(update);
    expect([brief(again), brief(first)]).toEqual([
      [
        ['op-1', 'applied', '1'],
        ['op-2', 'applied', '1'],
      ],
      [['op-1', 'applied', '1']],
    ]);
    expect(await md()).toEqual({ '1': { n: 2 } });
  });

  it('[UPBACK-21] of two answers written at the same moment, the second one changes nothing', async () => {
    const { store, overtaking } = overtakenStore();
    const { push, upload, backend, md, waiting, tidemark } = await setUp({}, store);
    await tidemark.objects.push({ source: 'Customer', user_id: 'ada', objects: { '1': { n: 0 }, '2': { n: 0 } } });
    const update = upload('update', '1', { n: 1 });
    // Another request finishes this upload and the next one between the first request's reads and its commit.
    overtaking.act = async () => {
      await push(update);
      await push(upload('update', '1', { n: 2 }));
    };
    expect(brief(await push(update))).toEqual([['op-1', 'applied', '1']]);
    expect(await md()).toEqual({ '1': { n: 2 }, '2': { n: 0 } });
    // The same holds when the backend answers the second request differently.
    const refused = upload('update', '2', { n: 1 });
    overtaking.act = async () => {
      backend.onCall = () => {
        throw new AdapterRefusal('rejected', 'no');
      };
      await push(refused);
    };
    expect(brief(await push(refused))).toEqual([['op-3', 'rejected', '2', 'upload_rejected']]);
    expect(brief(await waiting())).toContainEqual(['op-3', 'rejected', '2', 'upload_rejected']);
    expect(await md()).toEqual({ '1': { n: 2 }, '2': { n: 0 } });
  });
});
