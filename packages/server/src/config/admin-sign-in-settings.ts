import { INTERVAL_S_MAX } from '@tidemark/protocol';
import { type Static, Type } from '@tidemark/protocol/typebox';
import { integer, optionalText, TEXT_RULE, text } from './kinds.ts';

const ROLES_MAX = 100;
const TEXT_UNITS_MAX = 255;
const SESSION_S_DEFAULT = 8 * 3_600;

const SCOPES = ['admin', 'admin:reset', 'read', 'push'] as const;

/** The scopes of administrators who have a role. */
const RoleSetting = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: TEXT_UNITS_MAX,
      rule: `must have 1 to ${TEXT_UNITS_MAX} characters`,
    }),
    scopes: Type.Array(Type.Enum([...SCOPES]), {
      minItems: 1,
      maxItems: SCOPES.length,
      rule: `must be a list of one or more of ${SCOPES.join(', ')}`,
    }),
  },
  { additionalProperties: false },
);

/** How administrators sign in with an identity provider. */
export const AdminSignInSettings = Type.Object(
  {
    issuer: optionalText({
      description:
        'The name of the issuer that administrators sign in with; see docs/guides/sign-in.md. Not set: they use passwords and tokens only.',
      rule: TEXT_RULE,
    }),
    client_id: optionalText({
      description: 'The client id of the console at that issuer.',
      rule: TEXT_RULE,
    }),
    client_secret: optionalText({
      description: 'The client secret, if the issuer has given one; a public client has none.',
      rule: TEXT_RULE,
      secret: true,
    }),
    role_claim: text({
      description: 'The claim of the ID token that names the roles of an administrator, a text or a list.',
      default: 'roles',
      rule: TEXT_RULE,
    }),
    roles: Type.Array(RoleSetting, {
      maxItems: ROLES_MAX,
      description: 'The scopes that each role gives. Whoever has none of these roles cannot sign in.',
      default: [],
      rule: `must be a list of at most ${ROLES_MAX} roles, each with a name of its own and its scopes`,
      fileOnly: true,
    }),
    session_s: integer(
      60,
      INTERVAL_S_MAX,
      SESSION_S_DEFAULT,
      'How long such a sign-in lasts, in seconds. A role that is withdrawn ends with it.',
    ),
  },
  { additionalProperties: false },
);
type AdminSignInSettings = Static<typeof AdminSignInSettings>;

export type RoleScope = (typeof SCOPES)[number];

/** The sign-in of administrators as the code uses it. */
export interface AdminSignInConfig {
  /** The name of the issuer. */
  readonly issuer: string;
  readonly clientId: string;
  /** Null: the client is public. */
  readonly clientSecret: string | null;
  readonly roleClaim: string;
  /** The scopes by role. */
  readonly roles: ReadonlyMap<string, readonly RoleScope[]>;
  readonly sessionS: number;
}

/** Returns null if administrators do not sign in with an identity provider. */
export function adminSignInOf(settings: AdminSignInSettings): AdminSignInConfig | null {
  const { issuer, client_id: clientId, client_secret: clientSecret, role_claim: roleClaim, roles } = settings;
  if (issuer === null || clientId === null) return null;
  return {
    ...{ issuer, clientId, clientSecret, roleClaim, sessionS: settings.session_s },
    roles: new Map(roles.map(({ name, scopes }) => [name, scopes])),
  };
}
