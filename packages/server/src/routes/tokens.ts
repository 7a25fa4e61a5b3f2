import { pointer, Refusal } from '@tidemark/protocol';
import { NewToken, Revoked, Token, TokenList } from '@tidemark/protocol/admin/tokens';
import { closed, nullableMoment, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { requireNoLongerThan, requireRightOverToken } from '../auth/administrator-rights.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { pageOf, textsOf } from './paging.ts';
import { TokenScopes } from './request-shapes.ts';
import { pageQuery } from './shapes.ts';

const list = route({
  method: 'GET',
  path: '/rc/v1/tokens',
  operationId: 'tokensList',
  scope: 'admin',
  summary: 'All tokens, never the secret itself',
  query: pageQuery('the id of a token', '9f86d081884c7d65', {}),
  answer: Type.Array(Token, { description: 'Tokens, without the tokens themselves.' }),
  handle: ({ context, query }) => context.tidemark.tokens.list(pageOf(query)),
});

const details = route({
  method: 'GET',
  path: '/rc/v1/token_details',
  operationId: 'tokensDetails',
  scope: 'admin',
  summary: 'Tokens of a kind or with a text, never the secret itself',
  description:
    'Tokens are listed by id. A page looks at a bounded number of tokens: with filters it may be short, or empty, and `next` leads on.',
  refusals: ['invalid_value'],
  query: pageQuery('its `next`', '9f86d081884c7d65', {
    text: Type.Optional(
      text('Only tokens whose id, name, user, scopes or device contain the text, in any case.', 'backend'),
    ),
    kind: Type.Optional(
      Type.Enum(['named', 'session'], {
        description: '`named`: only tokens that were made with a name; `session`: only those of logins.',
        examples: ['named'],
      }),
    ),
  }),
  answer: TokenList,
  handle: ({ context: { tidemark }, query }) =>
    tidemark.listings.tokens.page({
      ...pageOf(query),
      ...textsOf(query, 'text'),
      ...(query.kind === undefined ? {} : { kind: query.kind }),
    }),
});

const create = route({
  method: 'POST',
  path: '/rc/v1/tokens',
  operationId: 'tokensCreate',
  scope: 'admin',
  summary: 'Create a named token; it is shown only in this answer',
  description:
    'A session by a role of an identity provider, and a token that expires, create only tokens that end no later than they do.',
  refusals: ['invalid_name', 'invalid_value', 'user_not_found'],
  body: Type.Object(
    {
      name: text('What the token is for.', 'backend'),
      scopes: Type.Unknown(documentedAs(TokenScopes)),
      expires_at: Type.Optional(nullableMoment('When it ends; absent or null: when it is revoked.')),
      user: Type.Optional(text('The login of its user; absent: the caller.', 'admin')),
    },
    { ...closed, title: 'TokenRequest', description: 'A token to create.' },
  ),
  answer: NewToken,
  audit: 'token.create',
  handle: async ({ context, body, bearer }) => {
    const { name, scopes, user = bearer?.user ?? '' } = body;
    await requireRightOverToken(context.tidemark, bearer, { user, scopes: Array.isArray(scopes) ? scopes : [] });
    const expiresAtMs = timeOf(body.expires_at ?? null);
    requireNoLongerThan(bearer, expiresAtMs);
    return context.tidemark.tokens.issue({ user, name, scopes, expiresAtMs });
  },
});

const revoke = route({
  method: 'DELETE',
  path: '/rc/v1/tokens/:token_id',
  operationId: 'tokensRevoke',
  announces: 'sessions',
  scope: 'admin',
  summary: 'Revoke a token',
  params: Type.Object({ token_id: text('The id of the token, not the token itself.', '9f86d081884c7d65') }),
  answer: Revoked,
  audit: 'token.revoke',
  handle: async ({ context, params, bearer }) => {
    const isOwn = params.token_id === bearer?.tokenId;
    const found = isOwn ? null : await context.tidemark.tokens.find(params.token_id);
    if (found !== null) await requireRightOverToken(context.tidemark, bearer, found.record);
    return context.tidemark.tokens.revoke(params.token_id);
  },
});

function timeOf(text: string | null): number | null {
  if (text === null) return null;
  const ms = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  const detail = 'must be a moment such as 2030-01-31T12:00:00Z';
  throw new Refusal('invalid_value', `expires_at ${detail}`, [{ pointer: pointer('expires_at'), detail }]);
}

export const tokenRoutes = [list, details, create, revoke];
