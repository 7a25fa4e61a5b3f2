import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';

const USER = { login: 'ada', password: 'lovelace-1815' };
const GROUPS = ['north', 'south'];
const OBJECT = 'o1';

/**
 * Fills a server and returns the ways that requests take through it: name → what to do before, and the request itself. Each
 * may be gone as often as one likes.
 */
export async function waysThrough({ url, password }, backendUrl) {
  const login = caller(url);
  const admin = caller(url, { 'x-sync-api-token': await login('/rc/v1/system/login', { login: 'admin', password }) });
  await admin('/rc/v1/users', { attributes: USER });
  await admin(`/rc/v1/users/${USER.login}/groups`, { groups: GROUPS });
  await admin('/rc/v1/system/appserver', { adapter_url: backendUrl });
  const { token, client_id } = await login('/sync/v1/login', USER);
  const device = caller(url, { authorization: `Bearer ${token}` });
  const parties = { admin, device: (path, body) => device(path, { client_id, ...body }) };
  return { ...(await waysOfUser(parties)), ...(await waysOfGroups(parties)), ...(await waysOfUploads(parties)) };
}

async function waysOfUser({ admin, device }) {
  await admin('/rc/v1/sources', { name: 'Order' });
  let price = 0;
  let token;
  const push = () => {
    const objects = { [OBJECT]: { item: 'Compass', price: ++price } };
    return admin('/app/v1/Order/push_objects', { user_id: USER.login, objects });
  };
  const pull = async () => {
    const { sources } = await device('/sync/v1/pull', { sources: { Order: { token } } });
    token = sources.Order.token;
  };
  return {
    push: { before: async () => {}, go: push },
    pull_without_news: { before: () => push().then(pull), go: pull },
    pull_one_change: { before: push, go: pull },
  };
}

/** The user is in two groups, and one of them has a change. */
async function waysOfGroups({ admin, device }) {
  await admin('/rc/v1/sources', { name: 'Visit', partition_type: 'group' });
  let floor = 0;
  const push = () => {
    const objects = { [OBJECT]: { customer: 'Miller', floor: ++floor } };
    return admin('/app/v1/Visit/push_objects', { group: GROUPS[0], objects });
  };
  const groups = {};
  const pull = async () => {
    const { sources } = await device('/sync/v1/pull', { sources: { Visit: { groups } } });
    for (const [group, page] of Object.entries(sources.Visit.groups)) groups[group] = { token: page.token };
  };
  return { group_pull_one_change: { before: push, go: pull } };
}

async function waysOfUploads({ admin, device }) {
  await admin('/rc/v1/sources', { name: 'Report', adapter: 'backend' });
  let number = 0;
  const opId = () => `upload-${number}`;
  // Outcomes that the device has not acknowledged would come with every answer.
  const acknowledge = () => device('/sync/v1/pull', { sources: {}, acknowledged: { Report: [opId()] } });
  const upload = async () => {
    const change = {
      op: 'create',
      source: 'Report',
      id: `temporary-${++number}`,
      attributes: { text: 'Mast checked' },
    };
    const { outcomes } = await device('/sync/v1/push', { changes: [{ op_id: opId(), ...change }] });
    if (outcomes[0].status !== 'applied') throw new Error(`an upload was not applied: ${JSON.stringify(outcomes)}`);
  };
  return { upload_to_backend: { before: acknowledge, go: upload } };
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

/** Returns what posts JSON to a server as browsers do, over a connection of its own that stays open. */
function caller(url, headers = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return async (path, body) => {
    const all = { 'content-type': 'application/json', 'accept-encoding': 'gzip, deflate, br', ...headers };
    const sent = request(url + path, { agent, method: 'POST', headers: all }).end(JSON.stringify(body));
    const [response] = await once(sent, 'response');
    const text = await textOf(response);
    if (response.statusCode !== 200) throw new Error(`${path} was answered ${response.statusCode}: ${text}`);
    return response.headers['content-type'].includes('json') ? JSON.parse(text) : text;
  };
}
