import type { Upload } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { tokenHash } from '../accounts/token-text.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import { type Adapter, AdapterRefusal } from '../ports/adapter.ts';

type Act = () => Promise<unknown>;

interface Scene extends TestTidemark {
  readonly ada: DeviceCaller;
  /** What happens while the backend thinks about the next upload, which it then refuses. */
  whileAsked: Act;
  /** The partition that the source module names. */
  partition: string;
}

const backendOf = (scene: () => Scene): Adapter => ({
  query: async () => ({ objects: {} }),
  create: async () => 'x',
  update: async () => {
    await scene().whileAsked();
    throw new AdapterRefusal('rejected', 'no');
  },
  delete: async () => undefined,
});

/** Ada is in the group `north`. `Visit` and `Mail` have a backend, `Note` has none, the module of `Route` names partitions. */
async function setUp(): Promise<Scene> {
  let scene: Scene;
  const backend = backendOf(() => scene);
  const module = { ...backend, partition: async () => scene.partition };
  const adapters = { find: (name: string) => ({ backend, module })[name] ?? null };
  const test = await newTidemark({ adapters });
  const { tidemark } = test;
  const asked = { poll_interval: -1 };
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group', adapter: 'backend', ...asked });
  await tidemark.sources.declare({ name: 'Mail', adapter: 'backend', ...asked });
  await tidemark.sources.declare({ name: 'Route', adapter: 'module', ...asked });
  await tidemark.sources.declare({ name: 'Note', partition_type: 'group' });
  await tidemark.groups.set('ada', ['north']);
  for (const source of ['Visit', 'Note']) await tidemark.objects.push({ source, group: 'north', objects: OLD });
  for (const source of ['Mail', 'Order']) await tidemark.objects.push({ source, user_id: 'ada', objects: OLD });
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const { token } = await tidemark.tokens.issue({ user: 'ada', client, scopes: ['device'], expiresAtMs: null });
  const ada = { user: 'ada', client, tokenHash: tokenHash(token) };
  scene = { ...test, ada, whileAsked: async () => undefined, partition: 'west' };
  return scene;
}

const OLD = { a: { n: 1 } };
const SECRET = { a: { secret: 'not for ada' } };

const updateOf = (source: string, more: Partial<Upload> = {}): Upload => ({
  ...{ op_id: `of-${source}`, source, op: 'update', id: 'a', attributes: { n: 2 } },
  ...more,
});

/** Makes `act` happen after the next commit. */
function afterCommit({ store }: Scene, act: Act): void {
  const { commit } = store;
  store.commit = async (call) => {
    store.commit = commit;
    const result = await commit.call(store, call);
    await act();
    return result;
  };
}

async function leave({ tidemark }: Scene, source: string): Promise<void> {
  await tidemark.groups.set('ada', []);
  await tidemark.objects.push({ source, group: 'north', objects: SECRET });
}

async function replaceAda({ tidemark, ada }: Scene): Promise<void> {
  await tidemark.users.delete('ada');
  await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
  await tidemark.clients.register('ada', { client_id: ada.client });
  for (const source of ['Mail', 'Order']) await tidemark.objects.push({ source, user_id: 'ada', objects: SECRET });
}

const push = ({ tidemark, ada }: Scene, ...changes: Upload[]) => tidemark.devices.push(ada, { changes });

const rejected = (source: string, code: string, more: object = {}) => ({
  ...{ op_id: `of-${source}`, source, status: 'rejected', id: 'a' },
  ...{ error: { code, detail: expect.any(String) as string }, current: null },
  ...more,
});

describe('objects in the answer to a push', () => {
  it('[UPLOAD-17] an outcome comes without the object when the user left the group while the backend was asked', async () => {
    const scene = await setUp();
    scene.whileAsked = () => leave(scene, 'Visit');
    expect(await push(scene, updateOf('Visit'))).toEqual([rejected('Visit', 'upload_rejected', { group: 'north' })]);
  });

  it('[UPLOAD-17] an outcome comes without the object when the user left the group after the commit', async () => {
    const scene = await setUp();
    afterCommit(scene, () => leave(scene, 'Note'));
    const create = updateOf('Note', { op: 'create' });
    expect(await push(scene, create)).toEqual([rejected('Note', 'object_exists', { group: 'north' })]);
  });

  it('[UPLOAD-17] an outcome comes without the object when the user left its group during a later upload of the push', async () => {
    const scene = await setUp();
    scene.whileAsked = () => leave(scene, 'Note');
    const outcomes = await push(scene, updateOf('Note', { op: 'create' }), updateOf('Mail'));
    expect(outcomes).toEqual([
      rejected('Note', 'object_exists', { group: 'north' }),
      rejected('Mail', 'upload_rejected', { current: { n: 1 } }),
    ]);
  });

  it('[UPLOAD-17] an outcome comes without the object when a source module moved the user while it was asked', async () => {
    const scene = await setUp();
    const { tidemark, ada } = scene;
    await push(scene, updateOf('Route', { op: 'create', id: 'x' }));
    scene.whileAsked = async () => {
      scene.partition = 'east';
      await tidemark.devices.pull(ada, { sources: new Map([['Route', null]]) });
    };
    const upload = updateOf('Route', { op_id: '2', id: 'x' });
    expect(await push(scene, upload)).toEqual([rejected('Route', 'upload_rejected', { op_id: '2', id: 'x' })]);
  });

  it('[UPLOAD-17] an outcome comes without the object when its source was dropped during a later upload to another source', async () => {
    const scene = await setUp();
    scene.whileAsked = () => scene.tidemark.sources.drop('Order');
    expect(await push(scene, updateOf('Order', { op: 'create' }), updateOf('Mail'))).toEqual([
      rejected('Order', 'object_exists'),
      rejected('Mail', 'upload_rejected', { current: { n: 1 } }),
    ]);
  });

  it('[UPLOAD-17] a push is refused when its device is to be wiped before the answer', async () => {
    const scene = await setUp();
    scene.whileAsked = () => scene.tidemark.clients.wipes.order(scene.ada.client, 'admin');
    expect(await refusalOf(push(scene, updateOf('Mail')))).toBe('client_wiped');
  });

  it('[UPLOAD-17] a push is refused when its token was revoked before the answer', async () => {
    const scene = await setUp();
    scene.whileAsked = () => scene.tidemark.tokens.revokeOfClient('ada', scene.ada.client);
    expect(await refusalOf(push(scene, updateOf('Mail')))).toBe('token_invalid');
  });

  it('[UPLOAD-17] a push is refused when its user was deleted and created again after the commit', async () => {
    const scene = await setUp();
    const { user, client } = scene.ada;
    const changes = [updateOf('Order', { op: 'create' })];
    afterCommit(scene, () => replaceAda(scene));
    expect(await refusalOf(scene.tidemark.devices.push({ user, client }, { changes }))).toBe('client_not_found');
  });
});
