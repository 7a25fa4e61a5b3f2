import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const THINGS = ['Compass', 'Sea chart', 'Barometer', 'Signal lamp', 'Anchor chain', 'Life jacket', 'Sextant', 'Winch'];
const MAKES = ['brass', 'steel', 'folding', 'spare', 'light', 'heavy'];
const PRODUCTS = Array.from({ length: 240 }, (_, id) => [
  `p${id}`,
  {
    name: `${THINGS[id % THINGS.length]}, ${MAKES[id % MAKES.length]}`,
    price: Math.round(900 + ((id * 7_919) % 24_000)) / 100,
    stock: (id * 37) % 120,
    depot: id % 3 === 0 ? 'north' : 'south',
  },
]);
const PRODUCT_SCHEMA = {
  properties: {
    name: { type: 'string', maxLength: 80, description: 'Shown in lists' },
    price: { type: 'number', minimum: 0 },
    stock: { type: 'integer', minimum: 0 },
    depot: { enum: ['north', 'south'] },
  },
  required: ['name'],
};
const ORDERS = (user) =>
  Array.from({ length: 12 + user * 5 }, (_, id) => [
    `${2_600 + user * 100 + id}`,
    { product: `p${(id * 13) % 240}`, quantity: 1 + (id % 4), status: id % 3 === 0 ? 'delivered' : 'open' },
  ]);

const WEATHER_FAILURE = 'The weather service answers 429: the 1,000 calls of today are used up.';

/** What the devices say of themselves. Some have a name. */
const DEVICES = [
  { device_name: 'Tablet of the van', device_platform: 'android', device_system: 'Android 14' },
  { device_platform: 'web', device_system: 'Firefox 128 on Linux', device_app_id: 'Field' },
  { device_platform: 'web', device_system: 'Chrome on Android', device_app_id: 'Field', device_app_version: '2.3.1' },
  { device_platform: 'ios', device_system: 'iOS 17' },
  {},
];

/**
 * Fills a server with data to look at. Returns the id of a device and of a ping, the name of a queue with a dead job, a
 * function that lets something happen, and one that ends the backend.
 */
export async function fillServer({ url, token }) {
  const call = async (path, body, bearer = token, method = 'POST') => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
    const response = await fetch(`${url}${path}`, { method, headers, body: body && JSON.stringify(body) });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.json();
  };
  const backend = await startBackend(call);
  await call('/rc/v1/sources', { name: 'Product', partition_type: 'app', read_only: true });
  await call('/rc/v1/sources', { name: 'Order', partition_type: 'user', push_notify: true });
  await call('/rc/v1/sources', { name: 'Depot', partition_type: 'group', conflicts: 'detect' });
  await call('/rc/v1/sources/Product/schema', { schema: PRODUCT_SCHEMA }, token, 'PUT');
  await call('/app/v1/Product/push_objects', { objects: Object.fromEntries(PRODUCTS) });
  const sessions = [];
  for (const [index, login] of ['ada', 'bob', 'carl', 'dora', 'emil'].entries()) {
    const password = 'sea-urchin-4410';
    await call('/rc/v1/users', { attributes: { login, password, team: index % 2 === 0 ? 'north' : 'south' } });
    await call(
      `/rc/v1/users/${login}/groups`,
      { groups: index % 2 === 0 ? ['north'] : ['south', 'harbour'] },
      token,
      'PUT',
    );
    await call('/app/v1/Order/push_objects', { user_id: login, objects: Object.fromEntries(ORDERS(index)) });
    sessions.push(await enrol(call, { login, password }, DEVICES[index]));
  }
  await call('/app/v1/Depot/push_objects', { group: 'north', objects: { d1: { name: 'North quay', stock: 412 } } });
  for (const { pull } of sessions) await pull();
  await makeRefreshes(call, sessions[0]);
  // All but the first device get the correction.
  await call('/app/v1/Product/push_objects', { objects: { p3: { price: 19.9, stock: 0 } } });
  for (const { pull } of sessions.slice(1)) await pull();
  const [{ client_id }] = sessions;
  await call('/rc/v1/store/release-notes', { data: 'The office closes at noon on Friday.' });
  await call('/rc/v1/users/*/sources/Product/docs/terms', { data: { shipping: { days: 3, carrier: 'north line' } } });
  const { ping_id } = await call('/rc/v1/users/ping', { user_id: ['ada', 'bob'], message: 'New orders for today' });
  await call('/rc/v1/tokens', { name: 'backend', scopes: ['push'] });
  await call('/rc/v1/jobs/uploads/pause', {});
  await endPing(call, ping_id);
  const makeActivity = async () => {
    await call('/app/v1/Order/push_objects', { user_id: 'bob', objects: { 2799: { quantity: 2, status: 'open' } } });
    await sessions[1].pull();
    await fetch(`${url}/rc/v1/users/nobody`, { headers: { authorization: `Bearer ${token}` } });
  };
  return { device: client_id, ping: ping_id, deadQueue: 'pings-fcm', makeActivity, close: backend.close };
}

/** Starts a backend on loopback that answers queries for prices, and fails those for the weather. */
async function startBackend(call) {
  const { createHandler } = await import('../../packages/backend/dist/index.js');
  const { nodeListener } = await import('../../packages/backend/dist/mounts/node.js');
  const { secret } = await call('/rc/v1/system/backend_secret', undefined, undefined, 'GET');
  const handler = createHandler({
    secret,
    sources: {
      Price: { query: () => Object.fromEntries(PRODUCTS.slice(0, 40).map(([id, { price }]) => [id, { price }])) },
    },
  });
  const answer = async (request) => {
    const { source } = await request.clone().json();
    return source === 'Weather' ? new Response(WEATHER_FAILURE, { status: 503 }) : handler(request);
  };
  const server = createServer(nodeListener(answer)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await call('/rc/v1/system/appserver', { adapter_url: `http://127.0.0.1:${server.address().port}/tidemark` });
  for (const name of ['Price', 'Weather']) {
    await call('/rc/v1/sources', {
      name,
      partition_type: 'app',
      adapter: 'backend',
      read_only: true,
      poll_interval: 0,
    });
  }
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { close };
}

/** Lets a device sync what comes from the backend, until the breaker has stopped the calls that fail. */
async function makeRefreshes(call, { client_id, token }) {
  for (let pulls = 0; pulls < 8; pulls++) {
    await call('/sync/v1/pull', { client_id, sources: { Price: {}, Weather: {} } }, token);
    // What has failed is not asked for again at once, unless somebody says that it is due.
    for (const source of ['Price', 'Weather']) await call(`/rc/v1/read_state/users/ada/sources/${source}`, {});
  }
}

/** Waits until the results of a ping are known. No push service is configured, so that its jobs die. */
async function endPing(call, ping) {
  for (let looks = 0; looks < 200; looks++) {
    const { pending } = await call(`/rc/v1/pings/${ping}`, undefined, undefined, 'GET');
    if (pending === 0) return;
    await sleep(100);
  }
  throw new Error('the ping has no result yet');
}

/** Signs a device in. Its pulls present the tokens of the answers before. */
async function enrol(call, { login, password }, texts) {
  const { token } = await call('/sync/v1/login', { login, password });
  const kind = {
    device_type: 'android',
    device_pin: `address-of-${login}`,
    device_app_id: 'org.example.field',
    device_app_version: '2.4.0',
    ...texts,
  };
  const { client_id } = await call('/sync/v1/clients', kind, token);
  let sources = { Product: {}, Order: {} };
  const pull = async () => {
    for (let page = 0; page < 2; page++) {
      const answer = await call('/sync/v1/pull', { client_id, sources }, token);
      const tokens = Object.entries(answer.sources).map(([name, { token: next }]) => [name, { token: next }]);
      sources = { ...sources, ...Object.fromEntries(tokens) };
    }
  };
  return { client_id, token, pull };
}
