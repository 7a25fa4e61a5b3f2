import { Refusal } from '@tidemark/protocol';
import { AdminSession, Appserver, BackendSecret, License, ResetReport } from '@tidemark/protocol/admin-schemas';
import { StatStep } from '@tidemark/protocol/schemas';
import { Type } from 'typebox';
import { LOGIN_BYTES_MAX } from '../edge-limits.ts';
import { prefersJson } from '../http/negotiate.ts';
import { route, TextAnswer } from '../http/route.ts';
import { Empty, Names, NullableText, Text } from './shapes.ts';

const login = route({
  method: 'POST',
  path: '/rc/v1/system/login',
  scope: 'public',
  summary: 'Log in as an administrator and obtain a token',
  body: Type.Object({ login: Text, password: Text }, { additionalProperties: false }),
  answer: AdminSession,
  isText: true,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'login',
  handle: async ({ desk, body, accept, address }) => {
    const { login: name, password } = body;
    const user = await desk.limiter.attempt(address, name, () => desk.tidemark.users.verifyPassword(name, password));
    if (user === null) throw new Refusal('invalid_credentials', 'login or password is wrong');
    if (!user.admin) throw new Refusal('forbidden', 'only administrators can log in here');
    const { token, expires_at } = await desk.tidemark.tokens.issue({
      user: user.login,
      scopes: ['admin', 'admin:reset'],
      expiresAtMs: desk.nowMs() + desk.tokenTtlMs,
      stamp: user.stamp,
    });
    return prefersJson(accept) ? { token, expires_at } : new TextAnswer(token);
  },
});

const license = route({
  method: 'GET',
  path: '/rc/v1/system/license',
  scope: 'read',
  summary: 'The licence in use',
  answer: License,
  handle: ({ desk }) => desk.tidemark.system.license(),
});

const reset = route({
  method: 'POST',
  path: '/rc/v1/system/reset',
  tells: 'reset',
  scope: 'admin:reset',
  summary: 'Empty the store and begin a new life',
  body: Empty,
  answer: ResetReport,
  audit: 'reset',
  handle: ({ desk, bearer }) => desk.tidemark.reset(bearer === null ? {} : { keepTokenId: bearer.tokenId }),
});

const appserver = route({
  method: 'GET',
  path: '/rc/v1/system/appserver',
  scope: 'read',
  summary: 'The address of the backend application',
  answer: Appserver,
  handle: ({ desk }) => desk.tidemark.system.appserver(),
});

const setAppserver = route({
  method: 'POST',
  path: '/rc/v1/system/appserver',
  scope: 'admin',
  summary: 'Set the address of the backend application',
  body: Type.Object({ adapter_url: NullableText }, { additionalProperties: false }),
  answer: Appserver,
  audit: 'appserver.set',
  handle: ({ desk, body }) => desk.tidemark.system.setAppserver(body),
});

const backendSecret = route({
  method: 'GET',
  path: '/rc/v1/system/backend_secret',
  scope: 'admin',
  summary: 'The secret that calls to the backend are signed with; null when it stands in the configuration',
  answer: BackendSecret,
  audit: 'backend_secret.read',
  handle: async ({ desk }) => ({
    secret: desk.isBackendSecretConfigured ? null : await desk.tidemark.system.backendSecret(),
  }),
});

const stats = route({
  method: 'GET',
  path: '/rc/v1/system/stats',
  scope: 'read',
  summary: 'Metric keys by pattern, or the steps of one metric',
  query: Type.Object(
    {
      names: Type.Optional(Text),
      metric: Type.Optional(Text),
      start: Type.Optional(Text),
      finish: Type.Optional(Text),
    },
    { additionalProperties: false },
  ),
  answer: Type.Union([Names, Type.Array(StatStep)]),
  handle: async ({ desk, query }) => {
    const { names, metric, start, finish } = query;
    if (names !== undefined && metric === undefined) return desk.tidemark.stats.names(names);
    if (metric === undefined || names !== undefined) {
      throw new Refusal('invalid_request', 'give either names or metric');
    }
    const bounds = { ...(start === undefined ? {} : { start }), ...(finish === undefined ? {} : { finish }) };
    return desk.tidemark.stats.read({ metric, ...bounds });
  },
});

export const systemRoutes = [login, license, reset, appserver, setAppserver, backendSecret, stats];
