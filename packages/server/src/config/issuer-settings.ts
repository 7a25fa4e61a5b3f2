import { type Static, Type } from '@tidemark/protocol/typebox';
import { isPlainUrl } from './kinds.ts';

const ISSUERS_MAX = 20;
const AUDIENCES_MAX = 20;
const KEYS_MAX = 20;
const CLAIMS_MAX = 20;
const SKEW_S_MAX = 600;
const TEXT_UNITS_MAX = 255;
const TRUSTED_URL_RULE = 'must be an https URL without login, password or fragment; http is allowed for localhost only';

/** Keys fetched over plain http could be replaced on the way, so it is only accepted within this machine. */
export function isTrustedUrl(value: string): boolean {
  if (!isPlainUrl(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === 'https:' || /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

function shortText(rule: string) {
  return Type.String({ minLength: 1, maxLength: TEXT_UNITS_MAX, rule });
}

function trustedUrl() {
  return Type.Refine(Type.String({ rule: TRUSTED_URL_RULE }), isTrustedUrl);
}

const NAME_RULE = `must have 1 to ${TEXT_UNITS_MAX} characters`;
const AUDIENCE_RULE = `must be a text, or a list of 1 to ${AUDIENCES_MAX} texts`;
const KEYS_RULE = `must be a list of 1 to ${KEYS_MAX} public keys in the form of JSON Web Keys: RSA, or EC with the curve P-256, or OKP with Ed25519`;
const CLAIMS_RULE = `must be an object of at most ${CLAIMS_MAX} claims, each with the value, or a list of the values, that it may have`;
const YES_OR_NO = 'must be true or false';

const Audiences = Type.Array(shortText(AUDIENCE_RULE), { minItems: 1, maxItems: AUDIENCES_MAX });
const ClaimValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()]);

/** A private key has the member `d`, a shared secret the type `oct`. */
function isPublicKey(key: Readonly<Record<string, unknown>>): boolean {
  const { kty, crv, d } = key;
  return (
    d === undefined && (kty === 'RSA' || (kty === 'EC' && crv === 'P-256') || (kty === 'OKP' && crv === 'Ed25519'))
  );
}

/** An identity provider whose tokens devices may sign in with. */
export const IssuerSetting = Type.Object(
  {
    name: shortText(NAME_RULE),
    issuer: trustedUrl(),
    audience: Type.Union([shortText(AUDIENCE_RULE), Audiences], { rule: AUDIENCE_RULE }),
    jwks_url: Type.Optional(trustedUrl()),
    keys: Type.Optional(
      Type.Refine(
        Type.Array(Type.Record(Type.String(), Type.Unknown()), { minItems: 1, maxItems: KEYS_MAX, rule: KEYS_RULE }),
        (keys) => keys.every(isPublicKey),
      ),
    ),
    clock_skew_s: Type.Optional(
      Type.Integer({ minimum: 0, maximum: SKEW_S_MAX, rule: `must be a whole number from 0 to ${SKEW_S_MAX}` }),
    ),
    user_claim: Type.Optional(shortText(NAME_RULE)),
    groups_claim: Type.Optional(shortText(NAME_RULE)),
    create_users: Type.Optional(Type.Boolean({ rule: YES_OR_NO })),
    adopt_users: Type.Optional(Type.Boolean({ rule: YES_OR_NO })),
    required_claims: Type.Optional(
      Type.Record(Type.String(), Type.Union([ClaimValue, Type.Array(ClaimValue, { minItems: 1 })]), {
        maxProperties: CLAIMS_MAX,
        rule: CLAIMS_RULE,
      }),
    ),
  },
  { additionalProperties: false },
);
type IssuerSetting = Static<typeof IssuerSetting>;

export const IssuerSettings = Type.Array(IssuerSetting, {
  maxItems: ISSUERS_MAX,
  description:
    'The identity providers (OpenID Connect) whose tokens devices may sign in with; see docs/guides/sign-in.md.',
  default: [],
  rule: `must be a list of at most ${ISSUERS_MAX} issuers, each with a name of its own`,
  fileOnly: true,
});

/** An identity provider as the code uses it. */
export interface IssuerConfig {
  /** Stands for the issuer in logs and in `tidemark doctor`. */
  readonly name: string;
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly keys: IssuerKeys;
  readonly clockSkewS: number;
  readonly userClaim: string;
  /** The claim that names the groups of a user; null: tokens do not decide about groups. */
  readonly groupsClaim: string | null;
  readonly createsUsers: boolean;
  readonly adoptsUsers: boolean;
  /** The values that each required claim may have. */
  readonly requiredClaims: ReadonlyMap<string, readonly unknown[]>;
}

/** Where the keys of an issuer come from. */
export type IssuerKeys =
  | { readonly kind: 'discovery' }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'fixed'; readonly keys: readonly Readonly<Record<string, unknown>>[] };

const CLOCK_SKEW_S_DEFAULT = 60;

export function issuerOf(setting: IssuerSetting): IssuerConfig {
  const { audience, required_claims: claims = {} } = setting;
  return {
    name: setting.name,
    issuer: setting.issuer,
    audiences: typeof audience === 'string' ? [audience] : audience,
    keys: keysOf(setting),
    clockSkewS: setting.clock_skew_s ?? CLOCK_SKEW_S_DEFAULT,
    userClaim: setting.user_claim ?? 'sub',
    groupsClaim: setting.groups_claim ?? null,
    createsUsers: setting.create_users ?? true,
    adoptsUsers: setting.adopt_users ?? false,
    requiredClaims: new Map(Object.entries(claims).map(([claim, value]) => [claim, [value].flat()])),
  };
}

/** Fixed keys go before an address, and an address before discovery. */
function keysOf({ keys, jwks_url: url }: IssuerSetting): IssuerKeys {
  if (keys !== undefined) return { kind: 'fixed', keys };
  return url === undefined ? { kind: 'discovery' } : { kind: 'url', url };
}
