import { once } from 'node:events';
import { createServer } from 'node:http';

const USER = { login: 'ada', password: 'lovelace-1815' };
const GROUP = 'north';
const OBJECT = 'o1';

/**
 * Fills a server and returns the ways that requests take through it: name → what to do before, and the request itself. Each
 * may be gone as often as one likes.
 */
export async function waysThrough({ url, password }, backendUrl) {
  const call = caller(url);
  const admin = await call('/rc/v1/system/login', { login: 'admin', password }).then((token) =>
    call.as({ 'x-sync-api-token': token }),
  );
  await admin('/rc/v1/users', { attributes: USER });
  await admin(`/rc/v1/users/${USER.login}/groups`, { groups: [GROUP] });
  await admin('/rc/v1/system/appserver', { adapter_url: backendUrl });
  await admin('/rc/v1/sources', { name: 'Order' });
  await admin('/rc/v1/sources', { name: 'Visit', partition_type: 'group' });
  await admin('/rc/v1/sources', { name: 'Report', adapter: 'backend' });
  const { token, client_id } = await call('/sync/v1/login', USER);
  const device = call.as({ authorization: `Bearer ${token}` });
  const tokens = {};
  let number = 0;
  const objects = () => ({ [OBJECT]: { item: 'Compass', price: ++number } });
  const push = () => admin('/app/v1/Order/push_objects', { user_id: USER.login, objects: objects() });
  const pull = async () => {
    const { sources } = await device('/sync/v1/pull', { client_id, sources: { Order: { token: tokens.Order } } });
    tokens.Order = sources.Order.token;
  };
  const pushToGroup = () => admin('/app/v1/Visit/push_objects', { group: GROUP, objects: objects() });
  const pullGroup = async () => {
    const groups = tokens.Visit === undefined ? {} : { [GROUP]: { token: tokens.Visit } };
    const { sources } = await device('/sync/v1/pull', { client_id, sources: { Visit: { groups } } });
    tokens.Visit = sources.Visit.groups[GROUP].token;
  };
  let uploaded = [];
  // Outcomes that the device has not acknowledged would come with every answer.
  const acknowledge = () => device('/sync/v1/pull', { client_id, sources: {}, acknowledged: { Report: uploaded } });
  const upload = async () => {
    const change = { op: 'create', op_id: `upload-${++number}`, source: 'Report', id: `temporary-${number}` };
    const changes = [{ ...change, attributes: { text: 'Mast checked' } }];
    uploaded = [change.op_id];
    const { outcomes } = await device('/sync/v1/push', { client_id, changes });
    if (outcomes[0].status !== 'applied') throw new Error(`the upload was not applied: ${JSON.stringify(outcomes)}`);
  };
  return {
    push: { before: async () => {}, go: push },
    pull_without_news: { before: () => push().then(pull), go: pull },
    pull_one_change: { before: push, go: pull },
    group_pull_one_change: { before: pushToGroup, go: pullGroup },
    upload_to_backend: { before: acknowledge, go: upload },
  };
}

/**
 * Opens a device with a live query and returns the way from an update until that query and a subscription of the source
 * show it. The recording ends in the listener that shows it last.
 */
export async function wayThroughSdk({ openDevice, url, recorder }) {
  const device = await openDevice({ url });
  await device.signIn(USER);
  await device.sync();
  const orders = device.source('Order');
  const query = orders.query({ where: { item: 'Compass' }, orderBy: [{ price: 'desc' }], limit: 10 });
  let price = 1_000_000;
  let names = [];
  const waiting = new Set();
  const onShown = (what) => {
    waiting.delete(what);
    if (waiting.size === 0) names = recorder.stopRecording() ?? names;
  };
  query.subscribe(() => onShown('query'));
  orders.subscribe(() => onShown('source'));
  const go = async () => {
    price++;
    for (const what of ['query', 'source']) waiting.add(what);
    await orders.update(OBJECT, { price });
    const [first] = query.list();
    if (waiting.size > 0 || first.attributes.price !== price) throw new Error('an update is not shown');
  };
  const recording = { startRecording: recorder.startRecording, stopRecording: () => names };
  return { way: { before: () => device.sync(), go }, recording, close: () => device.close() };
}

/** Opens a backend on loopback that agrees to everything and does not check logins. */
export async function openBackend() {
  const server = createServer(async (request, response) => {
    const name = request.url.split('/').at(-1);
    let text = '';
    for await (const part of request) text += part;
    const answers = { create: () => ({ id: `real-${JSON.parse(text).op_id}` }), update: () => ({}), query: () => ({}) };
    const status = answers[name] === undefined ? 404 : 200;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answers[name]?.() ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/tidemark`, close };
}

function caller(url, headers = {}) {
  const call = async (path, body) => {
    const all = { 'content-type': 'application/json', ...headers };
    const response = await fetch(url + path, { method: 'POST', headers: all, body: JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path} was answered ${response.status}: ${text}`);
    return response.headers.get('content-type')?.includes('json') ? JSON.parse(text) : text;
  };
  return Object.assign(call, { as: (more) => caller(url, { ...headers, ...more }) });
}
