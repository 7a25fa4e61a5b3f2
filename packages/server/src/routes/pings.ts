import { nameProblem, pointer, Refusal } from '@tidemark/protocol';
import { Ping, PingWithResults, WebPushKey } from '@tidemark/protocol/admin/pings';
import { text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { route } from '../http/route.ts';
import { pageOf } from './paging.ts';
import { pageQuery } from './shapes.ts';

const PING_ID_EXAMPLE = '0kz8m1q7vK3pXc9RtYb2Lw5DnHs6JfG';

const list = route({
  method: 'GET',
  path: '/rc/v1/pings',
  operationId: 'pingsList',
  scope: 'read',
  summary: 'Sent pings with their results, newest first',
  query: pageQuery('the id of a ping', PING_ID_EXAMPLE, {}),
  answer: Type.Array(Ping, { description: 'Pings, newest first.' }),
  handle: async ({ context, query }) => {
    if (query.after !== undefined && !PING_ID.test(query.after)) throw notAllowed('must be the id of a ping');
    return context.results.list(pageOf(query));
  },
});

const get = route({
  method: 'GET',
  path: '/rc/v1/pings/:ping_id',
  operationId: 'pingsGet',
  scope: 'read',
  summary: 'A ping with its result on each device, by client id',
  params: Type.Object({ ping_id: text('The id of the ping.', PING_ID_EXAMPLE) }),
  query: pageQuery('the id of a device', 'c3f1a2b4', {}),
  answer: PingWithResults,
  handle: async ({ context, params, query }) => {
    if (!PING_ID.test(params.ping_id)) throw new Refusal('ping_not_found', 'there is no ping with this id');
    const isName = query.after === undefined || nameProblem('client', query.after) === null;
    if (!isName) throw notAllowed('must be the id of a client');
    return context.results.get(params.ping_id, pageOf(query));
  },
});

/** For the backend of a web app: browsers subscribe with the key. */
const webPushKey = route({
  method: 'GET',
  path: '/rc/v1/system/web_push_key',
  operationId: 'systemWebPushKey',
  scope: 'read',
  summary: 'The public key that browsers subscribe to pushes with (applicationServerKey)',
  answer: WebPushKey,
  handle: async ({ context }) => ({ public_key: context.webPushKey }),
});

const PING_ID = /^[0-9A-Za-z]{31}$/;

function notAllowed(detail: string): Refusal {
  return new Refusal('invalid_value', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

export const pingRoutes = [list, get, webPushKey];
