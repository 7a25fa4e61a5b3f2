import { closed, moment, nullableMoment, nullableText, text, texts } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';
import { listPage } from './list-page.ts';

const tokenFields = {
  id: text('The id of the token, which is not the token itself.', '9f86d081884c7d65'),
  user: text('The login of the user it belongs to.', 'admin'),
  name: nullableText('The name it was made with; null: it came from a login.', 'backend'),
  scopes: texts('What it may do: `admin`, `admin:reset`, `read`, `push`, `device`.', ['push']),
  client: nullableText('The device it was made for; null: it is not for a device.', null),
  created_at: moment('When it was made.'),
  expires_at: nullableMoment('When it ends; null: when it is revoked.'),
};
export const Token = Type.Object(tokenFields, {
  ...closed,
  title: 'Token',
  description: 'A token, without the token itself.',
});
export type Token = Static<typeof Token>;

/** A page of all tokens. */
export const TokenList = listPage({
  title: 'TokenList',
  noun: 'tokens',
  rows: { tokens: Type.Array(Token, { description: 'Tokens, by id, without the tokens themselves.' }) },
  next: '9f86d081884c7d65',
});
export type TokenList = Static<typeof TokenList>;

/** The only answer that contains the token itself. */
export const NewToken = Type.Object(
  { token: text('The token itself. No other answer shows it.', 'tmk_2vXq…'), ...tokenFields },
  { ...closed, title: 'NewToken', description: 'A token that was just made.' },
);
export type NewToken = Static<typeof NewToken>;

export const Revoked = Type.Object(
  { revoked: text('The id of the token.', '9f86d081884c7d65') },
  { ...closed, title: 'Revoked', description: 'A token that was revoked.' },
);
export type Revoked = Static<typeof Revoked>;
