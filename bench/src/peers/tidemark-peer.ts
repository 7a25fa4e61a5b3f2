import { startServerProcess } from '@tidemark/testing/kit';
import { followPages, inBatches, type Peer, type PeerObject, post, request } from './peer.ts';

const PASSWORD = 'sea-urchin-4410';

/** Tidemark on its embedded store. Each data set belongs to a user of its own. */
export async function tidemarkPeer(): Promise<Peer> {
  const server = await startServerProcess({ TIDEMARK_LOG_LEVEL: 'error' });
  const { url, pid, adminPassword } = server;
  const { text: admin } = await post(`${url}/rc/v1/system/login`, { login: 'admin', password: adminPassword });
  const asAdmin = { authorization: `Bearer ${admin}` };
  const { text: license } = await request(`${url}/rc/v1/system/license`, { headers: asAdmin });
  await post(`${url}/rc/v1/sources`, { name: 'Order' }, asAdmin);
  return {
    name: 'Tidemark',
    setUp: `${(JSON.parse(license) as { readonly version: string }).version}, embedded store`,
    durability: 'flushed to the disk before the answer',
    pid,
    stop: async () => void (await server.stop()),
    async open(user) {
      await post(`${url}/rc/v1/users`, { attributes: { login: user, password: PASSWORD } }, asAdmin);
      const { text } = await post(`${url}/sync/v1/login`, { login: user, password: PASSWORD });
      const { token, client_id } = JSON.parse(text) as { readonly token: string; readonly client_id: string };
      const asDevice = { authorization: `Bearer ${token}` };
      const write = (call: string, objects: unknown) =>
        post(`${url}/app/v1/Order/${call}`, { user_id: user, objects }, asAdmin);
      const pull = async (position: string | null) => {
        const sources = { Order: position === null ? {} : { token: position } };
        const { text: body } = await post(`${url}/sync/v1/pull`, { client_id, sources }, asDevice);
        const page = (JSON.parse(body) as Pull).sources.Order;
        const entries = [page.put, page.patch, page.delete].reduce(
          (sum, part = {}) => sum + Object.keys(part).length,
          0,
        );
        return { bytes: body.length, entries, position: page.token ?? position ?? '', isLast: page.more !== true };
      };
      return {
        push: (objects) => inBatches(objects, async (batch) => void (await write('push_objects', attributesOf(batch)))),
        remove: (ids) => inBatches(ids, async (batch) => void (await write('push_deletes', batch))),
        sync: (position) => followPages(position, pull),
      };
    },
  };
}

interface Pull {
  readonly sources: {
    readonly Order: {
      readonly token?: string;
      readonly more?: boolean;
      readonly put?: object;
      readonly patch?: object;
      readonly delete?: object;
    };
  };
}

function attributesOf(objects: readonly PeerObject[]): object {
  return Object.fromEntries(objects.map(({ id, ...attributes }) => [id, attributes]));
}
