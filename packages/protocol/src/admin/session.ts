import { closed, moment, nullableMoment, nullableText, text, texts } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

export const AdminSession = Type.Object(
  {
    token: text('The token. Send it as `X-Sync-API-TOKEN` or as `Authorization: Bearer`.', 'tmk_2vXq…'),
    user: text('The login of the administrator.', 'admin'),
    expires_at: moment('When the token ends.'),
  },
  { ...closed, title: 'AdminSession', description: 'A login of an administrator.' },
);
export type AdminSession = Static<typeof AdminSession>;

/** A session of the web console. */
const ConsoleSession = Type.Object(
  {
    user: text('The login.', 'admin'),
    token_id: text('The id of the token that the session uses.', '9f86d081884c7d65'),
    scopes: texts('What the session may do.', ['admin']),
    expires_at: nullableMoment('When it ends; null: when its token is revoked.'),
  },
  { ...closed, title: 'ConsoleSession', description: 'A session of the web console.' },
);

export const CurrentSession = Type.Object(
  {
    session: Type.Union([ConsoleSession, Type.Null()], {
      description: 'The session; null: nobody is signed in.',
      examples: [null],
    }),
  },
  { ...closed, title: 'CurrentSession', description: 'Who is signed in to the web console.' },
);
export type CurrentSession = Static<typeof CurrentSession>;

export const SignInProvider = Type.Object(
  {
    name: nullableText('The name of the identity provider; null: administrators cannot sign in with one.', 'company'),
  },
  { ...closed, title: 'SignInProvider', description: 'The identity provider that administrators sign in with.' },
);
export type SignInProvider = Static<typeof SignInProvider>;

export const SignInStart = Type.Object(
  { url: text('Where the browser goes to sign in.', 'https://id.example/auth?client_id=…') },
  { ...closed, title: 'SignInStart', description: 'A sign-in that was begun.' },
);
export type SignInStart = Static<typeof SignInStart>;
