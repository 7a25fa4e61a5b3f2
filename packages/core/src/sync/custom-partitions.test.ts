import { type Outcome, type Page, Refusal, type Upload } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, refusalOf, settableClock } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import { type Adapter, AdapterRefusal, type PersonalCall, type QueryCall, type UploadCall } from '../ports/adapter.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import { ownerText } from '../ports/owner.ts';

type Objects = Record<string, Record<string, unknown>>;

/** A backend whose users work in teams: data belongs to the team. */
class Teams implements Adapter {
  readonly teamOf = new Map<string, string | null>([
    ['ada', 'north'],
    ['bob', 'north'],
    ['eve', 'south'],
  ]);
  readonly objects: Record<string, Objects> = {
    north: { n1: { secret: 'of the north' } },
    south: { s1: { secret: 'of the south' } },
  };
  readonly queries: QueryCall[] = [];
  readonly uploads: UploadCall[] = [];
  onUpload: () => void = () => undefined;
  onQuery: () => Promise<unknown> = async () => undefined;

  partition: NonNullable<Adapter['partition']> = async ({ user }) => this.teamOf.get(user) ?? null;

  async query(call: QueryCall) {
    this.queries.push(call);
    await this.onQuery();
    return { objects: this.objects[call.partition ?? ''] ?? {} };
  }

  create = async (call: UploadCall) => {
    this.uploads.push(call);
    this.onUpload();
    return `id-of-${call.id}`;
  };

  update = async (call: UploadCall) => void (await this.create(call));
  delete = async (call: UploadCall) => void (await this.create(call));
  search = async (call: PersonalCall) => ({ objects: { found: { by: call.user, in: call.partition ?? null } } });
}

async function setUp(attributes: Record<string, unknown> = {}) {
  const teams = new Teams();
  const clock = settableClock();
  const jobs = openMemoryJobs({ clock });
  const adapters = { find: (name: string) => (name === 'Visit' ? teams : null) };
  const fixture = await newTidemark({ adapters, jobs, clock });
  const { tidemark } = fixture;
  await tidemark.users.create({ attributes: { login: 'eve', password: 'long enough' } });
  await tidemark.sources.declare({ name: 'Visit', adapter: 'Visit', poll_interval: 0, ...attributes });
  const heard: (string | null)[] = [];
  tidemark.events.on('committed', ({ partition }) => heard.push(ownerText(partition.owner)));
  const deviceOf = async (user: string) => ({ user, client: (await tidemark.clients.register(user, {})).client_id });
  const devices = { ada: await deviceOf('ada'), bob: await deviceOf('bob'), eve: await deviceOf('eve') };
  type Who = keyof typeof devices;
  const pull = async (who: Who, token: string | null = null, objectsMax = 500): Promise<Page> => {
    const sources = new Map([['Visit', token]]);
    const { pages } = await tidemark.devices.pull(devices[who], { sources, objectsMax });
    const page = pages[0]?.page;
    if (page === undefined) throw new Error('no page');
    return JSON.parse('token' in page ? pageJson(page.token, page.body) : JSON.stringify(page)) as Page;
  };
  const push = (who: Who, ...changes: Upload[]) => tidemark.devices.push(devices[who], { changes });
  const outcomes = async (who: Who, acknowledged: readonly string[] = []): Promise<readonly Outcome[]> => {
    const call = { sources: new Map([['Visit', null]]), acknowledged: new Map([['Visit', acknowledged]]) };
    return (await tidemark.devices.pull(devices[who], call)).outcomes;
  };
  const md = async (user: string) =>
    Object.fromEntries(await tidemark.objects.read({ source: 'Visit', user_id: user }));
  return { ...fixture, teams, jobs, heard, devices, pull, push, outcomes, md };
}

const create = (op_id: string, id: string): Upload => ({
  op_id,
  source: 'Visit',
  op: 'create',
  id,
  attributes: { a: 1 },
});

/** Waits until all pending work has settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a custom partition', () => {
  it('[SNAP-7] a snapshot of a user who is moved to another partition meanwhile ends', async () => {
    const { teams, tidemark, devices, clock } = await setUp();
    Object.assign(teams.objects, { north: { n1: { a: 1 }, n2: { a: 2 }, n3: { a: 3 } } });
    const begin = () => tidemark.devices.snapshot(devices.ada, { source: 'Visit', token: null, objectsMax: 1 });
    const rest = async (snapshot: Awaited<ReturnType<typeof begin>>) => {
      let pages = 0;
      for await (const given of snapshot) pages += given.length;
      return pages;
    };
    expect(await rest(await begin())).toBe(3);
    const snapshot = await begin();
    expect((await snapshot.next()).value).toHaveLength(1);
    teams.teamOf.set('ada', 'south');
    clock.advance(1_000);
    expect(await rest(snapshot)).toBe(0);
  });

  it('[ADAPT-7] a user who is moved while a pull asks the backend gets nothing of the old partition', async () => {
    const { teams, tidemark, pull } = await setUp();
    const { client_id: client } = await tidemark.clients.register('ada', {});
    teams.onQuery = async () => {
      teams.onQuery = async () => undefined;
      teams.teamOf.set('ada', 'south');
      await tidemark.devices.pull({ user: 'ada', client }, { sources: new Map([['Visit', null]]) });
    };
    const page = await pull('ada');
    expect(page).toEqual({ error: { code: 'not_a_member', detail: expect.stringContaining('pull again') } });
    expect(await pull('ada')).toMatchObject({ reset: true, put: teams.objects.south });
  });

  it('[ADAPT-6] users of one custom partition share the answer of one query, and other users do not get it', async () => {
    const { pull, teams } = await setUp({ poll_interval: 300 });
    const pages = await Promise.all((['ada', 'bob', 'eve'] as const).map((who) => pull(who)));
    expect(pages.map(({ put }) => put)).toEqual([teams.objects.north, teams.objects.north, teams.objects.south]);
    expect(teams.queries).toEqual([
      { source: 'Visit', user: null, partition: 'north' },
      { source: 'Visit', user: null, partition: 'south' },
    ]);
    teams.teamOf.set('eve', null);
    expect((await pull('eve')).put).toBeUndefined();
    expect(teams.queries.at(-1)).toEqual({ source: 'Visit', user: 'eve' });
  });

  it('[ADAPT-7] a user who is moved to another partition starts over and gets nothing of the old one, neither in pages nor by a push', async () => {
    const { pull, push, outcomes, teams, tidemark, devices } = await setUp();
    teams.objects.north = { n1: { secret: 'of the north' }, n2: { secret: 'of the north' } };
    const halfWay = await pull('ada', null, 1);
    expect(halfWay.more).toBe(true);
    const whole = await pull('bob');
    await pull('eve');
    teams.onUpload = () => {
      throw new AdapterRefusal('rejected', 'not today');
    };
    const refused: Upload = { op_id: '1', source: 'Visit', op: 'update', id: 'n1', attributes: { a: 1 } };
    expect(await push('ada', refused)).toMatchObject([{ status: 'rejected', current: { secret: 'of the north' } }]);
    teams.teamOf.set('ada', 'south').set('bob', 'south');
    for (const [who, token] of [
      ['ada', halfWay.token],
      ['bob', whole.token],
    ] as const) {
      const page = await pull(who, token);
      expect(page).toMatchObject({ reset: true, more: false, put: teams.objects.south });
      expect(JSON.stringify(page)).not.toContain('north');
    }
    const [conflict] = await push('ada', { op_id: '2', source: 'Visit', op: 'update', id: 'n1', attributes: { a: 2 } });
    expect(conflict).toMatchObject({ status: 'conflict', current: null });
    const answered = await outcomes('ada');
    expect(answered.map(({ op_id, status }) => [op_id, status])).toEqual([
      ['2', 'conflict'],
      ['1', 'rejected'],
    ]);
    const seen = [
      answered,
      await push('ada', refused),
      await tidemark.devices.acknowledgedObjects(devices.ada, 'Visit'),
    ];
    expect(JSON.stringify(seen)).not.toContain('of the north');
  });

  it('[ADAPT-8] while the adapter cannot name the partition of a user, the user gets an error and no objects', async () => {
    const { pull, push, teams, log, heard } = await setUp();
    const { token } = await pull('ada');
    await settled();
    heard.length = 0;
    for (const [partition, detail] of [
      [() => Promise.reject(new Error('password of the database')), 'the adapter of the source failed'],
      [() => Promise.reject(new AdapterRefusal('rejected', 'not today')), 'not today'],
      [async () => '*', 'the adapter of the source returned an invalid partition name'],
      [async () => 7 as unknown as string, 'the adapter of the source returned an invalid partition name'],
    ] as const) {
      teams.partition = partition;
      expect(await pull('ada', token)).toEqual({ error: { code: 'backend_error', detail } });
      expect(await refusalOf(push('ada', create('1', 'tmp')))).toBe('backend_error');
    }
    teams.partition = () => Promise.reject(new Refusal('backend_timeout', 'too slow'));
    expect(await pull('ada', token)).toEqual({ error: { code: 'backend_timeout', detail: 'too slow' } });
    expect([teams.uploads, heard]).toEqual([[], []]);
    expect(log.lines.filter(({ event }) => event === 'partition_not_told').length).toBeGreaterThan(8);
  });

  it('[ADAPT-9] a push, a document or a refresh time for one user of a custom partition holds for all its users', async () => {
    const { tidemark, md, pull, teams } = await setUp({ poll_interval: -1 });
    const report = await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { p: { a: 1 } } });
    expect(report).toMatchObject({ user_id: 'ada', changed: 1 });
    expect([await md('bob'), await md('eve')]).toEqual([{ p: { a: 1 } }, {}]);
    const scopeOf = (user: string) => ({ kind: 'user', source: 'Visit', user }) as const;
    await tidemark.documents.write(scopeOf('ada'), 'note', { data: 'for the team' });
    expect(await tidemark.documents.names(scopeOf('bob'))).toEqual(['md', 'note']);
    expect(await tidemark.documents.names(scopeOf('eve'))).toEqual(['md']);
    expect(await tidemark.documents.read(scopeOf('bob'), 'note')).toMatchObject({ text: 'for the team' });
    expect((await tidemark.documents.read(scopeOf('bob'), 'md')).type).toBe('objects');
    await tidemark.sources.refreshTimes.set('Visit', 'ada');
    expect((await pull('bob')).put).toEqual(teams.objects.north);
    // The internal name of a custom partition is not accepted as a user from outside.
    const outside = { source: 'Visit', user_id: ownerText({ kind: 'group', name: 'north' }), objects: { x: { a: 1 } } };
    expect(await refusalOf(tidemark.objects.push(outside))).toBe('invalid_name');
  });

  it('[ADAPT-10] the errors of a custom partition are in the document `errors` of all its users', async () => {
    const { tidemark, pull, teams } = await setUp();
    teams.query = () => Promise.reject(new Refusal('backend_timeout', 'too slow'));
    expect((await pull('ada')).error?.code).toBe('backend_timeout');
    const errors = await tidemark.documents.read({ kind: 'user', source: 'Visit', user: 'bob' }, 'errors');
    expect(errors.type === 'objects' && [...errors.objects.keys()]).toEqual(['query']);
    expect(await refusalOf(tidemark.documents.read({ kind: 'user', source: 'Visit', user: 'eve' }, 'errors'))).toBe(
      'doc_not_found',
    );
  });

  it('[ADAPT-11] a change in a custom partition is announced to every user in it and to no other', async () => {
    const { tidemark, pull, heard, teams } = await setUp({ poll_interval: 300 });
    for (const who of ['ada', 'bob', 'eve'] as const) await pull(who);
    await settled();
    heard.length = 0;
    await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { p: { a: 1 } } });
    await settled();
    expect(heard.sort()).toEqual(['ada', 'bob']);
    teams.teamOf.set('bob', 'south');
    await pull('bob');
    await settled();
    heard.length = 0;
    await tidemark.objects.push({ source: 'Visit', user_id: 'eve', objects: { p: { a: 1 } } });
    await settled();
    expect(heard.sort()).toEqual(['bob', 'eve']);
  });

  it('[ADAPT-12] deleting a user keeps the custom partition for the others and leaves nothing of the user in it', async () => {
    const { tidemark, pull, md, push, store, teams } = await setUp({ poll_interval: -1 });
    await tidemark.sources.refreshTimes.set('Visit', 'ada');
    for (const who of ['ada', 'bob'] as const) await pull(who);
    await push('ada', create('1', 'tmp'));
    await tidemark.users.delete('ada');
    expect(await md('bob')).toEqual({ ...teams.objects.north, 'id-of-tmp': { a: 1 } });
    const settings = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    expect(settings.filter(({ key }) => key.includes('ada'))).toEqual([]);
    expect(settings.filter(({ key }) => key[0] === 'member').length).toBe(1);
    await tidemark.sources.drop('Visit');
    const left = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    expect(left.filter(({ key }) => key.includes('Visit') && key[0] !== 'roster')).toEqual([]);
    expect(await store.partitions({ limit: 10 })).toEqual([]);
  });

  it('[ADAPT-12] a user who is deleted while being moved to another partition leaves nothing behind', async () => {
    const { tidemark, pull, store, teams } = await setUp();
    await pull('ada');
    teams.teamOf.set('ada', 'south');
    const { partition } = teams;
    teams.partition = async (call) => {
      await tidemark.users.delete('ada').catch(() => undefined);
      return partition(call);
    };
    expect((await pull('ada')).error?.code).toBe('user_not_found');
    const settings = await store.listEntries({ kind: 'setting', prefix: [], limit: 1_000 });
    expect(settings.filter(({ key }) => key.includes('ada'))).toEqual([]);
  });

  it('[ADAPT-13] uploads of a user are applied in the custom partition, and all its users get them', async () => {
    const { push, md, teams } = await setUp({ poll_interval: -1 });
    expect(await push('ada', create('1', 'tmp'))).toMatchObject([{ status: 'applied', id: 'id-of-tmp' }]);
    expect(teams.uploads).toMatchObject([{ user: 'ada', partition: 'north', id: 'tmp' }]);
    expect([await md('bob'), await md('eve')]).toEqual([{ 'id-of-tmp': { a: 1 } }, {}]);
  });

  it('[ADAPT-13] a queued upload is applied in the partition it was made in, and its outcome follows the user', async () => {
    const { push, md, jobs, teams, tidemark, outcomes } = await setUp({ poll_interval: -1, cud_queue: 'slow' });
    expect(await push('ada', create('1', 'tmp'))).toMatchObject([{ status: 'queued' }]);
    teams.teamOf.set('ada', 'south');
    expect(await push('ada', create('1', 'tmp'))).toMatchObject([{ status: 'queued' }]);
    await tidemark.devices.runUpload((await jobs.lease('slow', 1_000)) as LeasedJob);
    expect(await jobs.lease('slow', 1_000)).toBeNull();
    expect([await md('bob'), await md('ada')]).toEqual([{ 'id-of-tmp': { a: 1 } }, {}]);
    expect(await outcomes('ada')).toMatchObject([{ op_id: '1', status: 'applied', id: 'id-of-tmp' }]);
    expect(await outcomes('ada', ['1'])).toEqual([]);
    expect(await push('ada', create('1', 'tmp'))).toMatchObject([{ status: 'applied', id: 'id-of-tmp' }]);
    expect(teams.uploads.length).toBe(1);
  });

  it('[ADAPT-14] a search names the user and the partition the user is in', async () => {
    const { tidemark } = await setUp();
    expect(JSON.parse(await tidemark.search({ source: 'Visit', user_id: 'ada', params: {} }))).toEqual({
      found: { by: 'ada', in: 'north' },
    });
  });
});
