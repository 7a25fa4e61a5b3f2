import type { IssuedToken } from '@tidemark/core';
import { Refusal, type RefusalCode } from '@tidemark/protocol';
import { AdminSession } from '@tidemark/protocol/admin/session';
import {
  Appserver,
  AppserverChecks,
  BackendFailures,
  BackendSecret,
  License,
  ResetReport,
  SettingInForce,
} from '@tidemark/protocol/admin/system';
import { closed, nullableText, text } from '@tidemark/protocol/annotated';
import { StatStep } from '@tidemark/protocol/schemas';
import { Type } from '@tidemark/protocol/typebox';
import { checkBackend } from '../backend/check-backend.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { prefersJson } from '../http/negotiate.ts';
import { type RouteContext, route, TextAnswer } from '../http/route.ts';
import type { AdminSignIn, AdminUser } from '../identity/admin-sign-in.ts';
import { TOKEN_REFUSALS } from '../identity/token-refusals.ts';
import { LOGIN_BYTES_MAX } from '../limits.ts';
import { Empty, names } from './shapes.ts';

function stepIndex(description: string, example: number) {
  return Type.String(documentedAs(Type.Integer({ description, examples: [example] })));
}

/** The codes of a sign-in of an administrator with an ID token. */
export const ADMIN_TOKEN_REFUSALS: readonly RefusalCode[] = [
  ...TOKEN_REFUSALS,
  'role_missing',
  'sign_in_not_configured',
];

const login = route({
  method: 'POST',
  path: '/rc/v1/system/login',
  operationId: 'systemLogIn',
  scope: 'public',
  summary: 'Log in as an administrator and obtain a token',
  description:
    'With login and password, or with an ID token of the identity provider of administrators. Answers the bare token as plain text, unless the caller prefers JSON.',
  refusals: ['invalid_credentials', 'forbidden', 'rate_limited', ...ADMIN_TOKEN_REFUSALS],
  body: Type.Object(
    {
      login: Type.Optional(text('The login of an administrator.', 'admin')),
      password: Type.Optional(text('The password.', 'correct horse battery')),
      id_token: Type.Optional(
        text('An ID token for the client id of `admin_sign_in`, instead of login and password.', 'eyJhbGciOi…'),
      ),
    },
    { ...closed, title: 'AdminLogin', description: 'A login of an administrator.' },
  ),
  answer: AdminSession,
  isText: true,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'login',
  loginAs: 'administrator',
  handle: async ({ context, body, accept, address, request }) => {
    const { login: name, password, id_token } = body;
    const isByPassword = name !== undefined && password !== undefined;
    if (isByPassword === (id_token !== undefined) || (!isByPassword && (name ?? password) !== undefined)) {
      throw new Refusal('invalid_request', 'give either login and password, or an id_token');
    }
    const issued = isByPassword
      ? issueAdminToken(context, { login: name, password }, address)
      : issueByRole(context, await adminOf(context, id_token ?? '', address));
    const { token, user, expires_at } = await issued;
    // The audit trail names the user, whom an ID token in the body does not name.
    if (!isByPassword) request.bearer = await context.tidemark.tokens.bearers.check(token, context.nowMs());
    return prefersJson(accept) ? { token, user, expires_at } : new TextAnswer(token);
  },
});

/** Returns how administrators sign in with an identity provider. */
export function adminSignInOf({ providers }: RouteContext): AdminSignIn {
  if (providers.admins !== null) return providers.admins;
  throw new Refusal('sign_in_not_configured', 'administrators cannot sign in with an identity provider here');
}

function adminOf(context: RouteContext, idToken: string, address: string): Promise<AdminUser> {
  const signIn = adminSignInOf(context);
  return context.signIns.verifyToken(address, () => signIn.userOf(idToken));
}

/** Issues a token with the scopes that the identity provider's roles give. */
export function issueByRole({ tidemark }: RouteContext, admin: AdminUser): Promise<IssuedToken> {
  const { login: user, identity, scopes, expiresAtMs } = admin;
  return tidemark.tokens.issue({ user, identity, scopes, expiresAtMs, isByRole: true });
}

/** Verifies the password of an administrator and issues a token with all rights. */
export async function issueAdminToken(
  context: RouteContext,
  credentials: { readonly login: string; readonly password: string },
  address: string,
): Promise<IssuedToken> {
  const { login: name, password } = credentials;
  const user = await context.limiter.attempt(address, name, () =>
    context.tidemark.users.verifyPassword(name, password),
  );
  if (user === null) throw new Refusal('invalid_credentials', 'login or password is wrong');
  if (!user.admin) throw new Refusal('forbidden', 'only administrators can log in here');
  return context.tidemark.tokens.issue({
    user: user.login,
    scopes: ['admin', 'admin:reset'],
    expiresAtMs: context.nowMs() + context.tokenTtlMs,
    stamp: user.stamp,
  });
}

const license = route({
  method: 'GET',
  path: '/rc/v1/system/license',
  operationId: 'systemLicense',
  scope: 'read',
  summary: 'The licence in use',
  answer: License,
  handle: ({ context }) => context.tidemark.system.license(),
});

const settings = route({
  method: 'GET',
  path: '/rc/v1/system/settings',
  operationId: 'systemSettings',
  scope: 'admin',
  summary: 'Every setting of this server with its value and its origin',
  description:
    'As they were at the start of the server process that answers. Secrets are masked. SIGHUP changes settings of the log afterwards, which is not shown.',
  answer: Type.Array(SettingInForce),
  handle: async ({ context }) => context.settings,
});

const reset = route({
  method: 'POST',
  path: '/rc/v1/system/reset',
  operationId: 'systemReset',
  announces: 'reset',
  scope: 'admin:reset',
  summary: 'Delete all data',
  description: 'Administrators, configured sources and the token of the caller stay.',
  refusals: ['reset_disabled'],
  body: Empty,
  answer: ResetReport,
  audit: 'reset',
  handle: ({ context, bearer }) => context.tidemark.reset(bearer === null ? {} : { keepTokenId: bearer.tokenId }),
});

const appserver = route({
  method: 'GET',
  path: '/rc/v1/system/appserver',
  operationId: 'systemAppserver',
  scope: 'read',
  summary: 'The address of the backend application',
  answer: Appserver,
  handle: ({ context }) => context.tidemark.system.appserver(),
});

const setAppserver = route({
  method: 'POST',
  path: '/rc/v1/system/appserver',
  operationId: 'systemSetAppserver',
  scope: 'admin',
  summary: 'Set the address of the backend application',
  refusals: ['url_not_allowed'],
  body: Type.Object(
    {
      adapter_url: nullableText(
        'The URL under which the backend answers calls: http or https, without login, query and fragment. Null: none.',
        'https://app.example/tidemark',
      ),
    },
    { ...closed, title: 'AppserverSetting', description: 'The address of the backend.' },
  ),
  answer: Appserver,
  audit: 'appserver.set',
  handle: ({ context, body }) => context.tidemark.system.setAppserver(body),
});

const checkAppserver = route({
  method: 'POST',
  path: '/rc/v1/system/appserver/check',
  operationId: 'systemCheckAppserver',
  scope: 'admin',
  summary: 'Call the backend and report problems',
  body: Type.Object(
    { user_id: Type.Optional(text('The user whose data is queried, for sources with data of users.', 'anna')) },
    { ...closed, title: 'AppserverCheckRequest', description: 'How to check the backend.' },
  ),
  answer: AppserverChecks,
  audit: 'appserver.check',
  handle: async ({ context, body, bearer }) => {
    const { tidemark, backend } = context;
    return checkBackend({ tidemark, backend, user: body.user_id ?? bearer?.user ?? '' });
  },
});

const appserverFailures = route({
  method: 'GET',
  path: '/rc/v1/system/appserver/failures',
  operationId: 'systemAppserverFailures',
  scope: 'admin',
  summary: 'The last calls to the backend that failed, in the words of the backend',
  description:
    'Of the server process that answers, since its start, and at most 50. Calls that a circuit breaker held back are not among them, and neither are uploads that the backend refused.',
  answer: BackendFailures,
  handle: async ({ context }) => ({ failures: [...context.backend.lastFailures] }),
});

const backendSecret = route({
  method: 'GET',
  path: '/rc/v1/system/backend_secret',
  operationId: 'systemBackendSecret',
  scope: 'admin',
  summary: 'The secret that calls to the backend are signed with; null if it is in the configuration',
  refusals: ['write_conflict', 'store_full'],
  answer: BackendSecret,
  audit: 'backend_secret.read',
  handle: async ({ context }) => ({
    secret: context.isBackendSecretConfigured ? null : await context.tidemark.system.backendSecret(),
  }),
});

const stats = route({
  method: 'GET',
  path: '/rc/v1/system/stats',
  operationId: 'systemStats',
  scope: 'read',
  summary: 'Metric keys by pattern, or the steps of one metric',
  description: 'Give either `names` or `metric`; `start` and `finish` go with `metric`.',
  refusals: ['metric_not_found', 'invalid_value'],
  query: Type.Object(
    {
      names: Type.Optional(text('A pattern for metric keys, in which `*` stands for anything.', 'sources:*:Product')),
      metric: Type.Optional(text('A metric key.', 'sources:query:Product')),
      start: Type.Optional(stepIndex('The first step: 0 is the oldest, -1 the newest. Absent: 0.', 0)),
      finish: Type.Optional(stepIndex('The last step, which is included: -1 is the newest. Absent: -1.', -1)),
    },
    closed,
  ),
  answer: Type.Union(
    [
      names('Metric keys, sorted.', ['sources:query:Product']),
      Type.Array(StatStep, { description: 'Steps of the metric.' }),
    ],
    { description: 'Metric keys for `names`, steps for `metric`.' },
  ),
  handle: async ({ context, query }) => {
    const { names: pattern, metric, start, finish } = query;
    if (pattern !== undefined && metric === undefined) return context.tidemark.stats.names(pattern);
    if (metric === undefined || pattern !== undefined) {
      throw new Refusal('invalid_request', 'give either names or metric');
    }
    const bounds = { ...(start === undefined ? {} : { start }), ...(finish === undefined ? {} : { finish }) };
    return context.tidemark.stats.read({ metric, ...bounds });
  },
});

export const systemRoutes = [
  login,
  license,
  settings,
  reset,
  appserver,
  setAppserver,
  checkAppserver,
  appserverFailures,
  backendSecret,
  stats,
];
