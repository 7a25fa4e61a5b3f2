import { nameProblem, pointer, Refusal } from '@tidemark/protocol';
import { Ping, PingWithResults, WebPushKey } from '@tidemark/protocol/admin-schemas';
import { Type } from 'typebox';
import { route } from '../http/route.ts';
import { pageOf } from './paging.ts';
import { PageQuery, Text } from './shapes.ts';

const list = route({
  method: 'GET',
  path: '/rc/v1/pings',
  scope: 'read',
  summary: 'The pings that were sent and what became of them, newest first',
  query: PageQuery,
  answer: Type.Array(Ping),
  handle: async ({ desk, query }) => {
    if (query.after !== undefined && !PING_ID.test(query.after)) throw notAllowed('must be the id of a ping');
    return desk.results.list(pageOf(query));
  },
});

const get = route({
  method: 'GET',
  path: '/rc/v1/pings/:ping_id',
  scope: 'read',
  summary: 'A ping and what became of it on each device, by client id',
  params: Type.Object({ ping_id: Text }),
  query: PageQuery,
  answer: PingWithResults,
  handle: async ({ desk, params, query }) => {
    if (!PING_ID.test(params.ping_id)) throw new Refusal('ping_not_found', 'there is no ping of this id');
    const isName = query.after === undefined || nameProblem('client', query.after) === null;
    if (!isName) throw notAllowed('must be the id of a client');
    return desk.results.get(params.ping_id, pageOf(query));
  },
});

/** For the backend that serves the web app: browsers subscribe with it. */
const webPushKey = route({
  method: 'GET',
  path: '/rc/v1/system/web_push_key',
  scope: 'read',
  summary: 'The public key that browsers subscribe to pushes with (applicationServerKey)',
  answer: WebPushKey,
  handle: async ({ desk }) => ({ public_key: desk.webPushKey }),
});

const PING_ID = /^[0-9A-Za-z]{31}$/;

function notAllowed(detail: string): Refusal {
  return new Refusal('invalid_value', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}

export const pingRoutes = [list, get, webPushKey];
