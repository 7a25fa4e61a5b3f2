import { GROUPS_PER_USER_MAX, nameProblem, Refusal, type RefusalCode } from '@tidemark/protocol';
import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import type { IssuerConfig } from '../config/issuer-settings.ts';
import { ID_TOKEN_UNITS_MAX } from '../limits.ts';
import type { KeySet } from './key-set.ts';

/** Only asymmetric algorithms: with HMAC, whoever knows the public key could sign. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const;

/** A token of an identity provider. */
export interface ProviderToken {
  readonly kind: 'id_token' | 'access_token';
  readonly text: string;
}

/** The `typ` of tokens that stand for a user, in lower case; others, such as logout tokens, must not sign anybody in. */
const TYPES: Readonly<Record<ProviderToken['kind'], readonly (string | undefined)[]>> = {
  id_token: [undefined, 'jwt'],
  access_token: [undefined, 'jwt', 'at+jwt', 'application/at+jwt'],
};

/** The limit of OpenID Connect for `sub`. */
const SUBJECT_UNITS_MAX = 255;

/** The user that a token stands for. */
export interface TokenUser {
  readonly subject: string;
  readonly login: string;
  /** The groups of the user; absent: the token does not name them. */
  readonly groups?: readonly string[];
}

/** Refuses a token that is too long, before it is parsed. */
export function requireShort(text: string): void {
  if (text.length <= ID_TOKEN_UNITS_MAX) return;
  throw new Refusal('id_token_too_large', `a token may have at most ${ID_TOKEN_UNITS_MAX} characters`);
}

/** Verifies signature and claims of a token of this issuer, and returns its user. */
export async function verifyToken(
  token: ProviderToken,
  issuer: IssuerConfig,
  keys: Pick<KeySet, 'find'>,
  nowMs: number,
): Promise<TokenUser> {
  return userOfClaims(await verifiedClaims(token, issuer, keys, nowMs), issuer);
}

/** Returns the user that verified claims stand for. */
export function userOfClaims(claims: JWTPayload, { userClaim, groupsClaim }: IssuerConfig): TokenUser {
  return { ...userIn(claims, userClaim), ...groupsIn(claims, groupsClaim) };
}

/** Verifies signature and claims of a token of this issuer. */
export async function verifiedClaims(
  { kind, text }: ProviderToken,
  issuer: IssuerConfig,
  keys: Pick<KeySet, 'find'>,
  nowMs: number,
): Promise<JWTPayload> {
  const { payload, protectedHeader } = await verified(text, issuer, keys, nowMs);
  if (!TYPES[kind].includes(protectedHeader.typ?.toLowerCase()) || 'events' in payload) {
    throw new Refusal('id_token_invalid', `the token is not an ${kind === 'id_token' ? 'ID' : 'access'} token`);
  }
  requireIssued(payload, issuer.clockSkewS, nowMs);
  if (kind === 'id_token') requireAuthorizedParty(payload, issuer.audiences);
  requireClaims(payload, issuer);
  return payload;
}

async function verified(
  text: string,
  issuer: IssuerConfig,
  keys: Pick<KeySet, 'find'>,
  nowMs: number,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(text, (header) => keys.find(header), {
      algorithms: [...ALGORITHMS],
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      clockTolerance: issuer.clockSkewS,
      currentDate: new Date(nowMs),
      requiredClaims: ['sub', 'exp'],
    });
  } catch (error) {
    throw error instanceof Refusal ? error : refusalOf(error);
  }
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return new Refusal('id_token_algorithm', `the token must be signed with ${ALGORITHMS.join(', ')}`);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return new Refusal('id_token_signature', 'the signature does not fit the token and the key of the issuer');
  }
  if (error instanceof errors.JWTExpired)
    return new Refusal('id_token_expired', 'the token has expired; get a new one');
  if (error instanceof errors.JWTClaimValidationFailed) return claimRefusal(error);
  return new Refusal('id_token_invalid', 'the token is not a signed JWT that can be verified');
}

const CODE_OF_CLAIM: Readonly<Record<string, RefusalCode>> = {
  iss: 'id_token_issuer',
  aud: 'id_token_audience',
  nbf: 'id_token_not_yet_valid',
};

function claimRefusal({ claim, reason }: errors.JWTClaimValidationFailed): Refusal {
  const isMissing = reason === 'missing' || reason === 'invalid';
  const code = isMissing && claim !== 'aud' ? 'id_token_invalid' : (CODE_OF_CLAIM[claim] ?? 'id_token_invalid');
  return new Refusal(code, `the claim ${claim} of the token ${reason === 'missing' ? 'is missing' : 'does not fit'}`);
}

/** Tokens from the future come from a wrong clock, or were made to be used later. */
function requireIssued({ iat }: JWTPayload, clockSkewS: number, nowMs: number): void {
  if (iat === undefined || iat <= nowMs / 1_000 + clockSkewS) return;
  throw new Refusal('id_token_not_yet_valid', 'the claim iat of the token is in the future');
}

/** An ID token for several audiences names the one that it was issued to. */
function requireAuthorizedParty({ aud, azp }: JWTPayload, audiences: readonly string[]): void {
  const isForMany = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined ? !isForMany : audiences.some((audience) => audience === azp)) return;
  throw new Refusal('id_token_audience', 'the claim azp of the token does not fit');
}

function requireClaims(payload: JWTPayload, { requiredClaims, userClaim }: IssuerConfig): void {
  for (const [claim, allowed] of requiredClaims) {
    const given = [payload[claim]].flat();
    if (!given.some((value) => allowed.includes(value))) throw claimMissing(claim, 'does not have a required value');
  }
  // Anybody can enter the address of somebody else at many providers.
  if (userClaim === 'email' && payload.email_verified !== true) throw claimMissing('email_verified', 'is not true');
}

function userIn({ sub, ...claims }: JWTPayload, userClaim: string): TokenUser {
  if (typeof sub !== 'string' || sub === '' || sub.length > SUBJECT_UNITS_MAX || !sub.isWellFormed()) {
    throw new Refusal('id_token_invalid', `the claim sub must have 1 to ${SUBJECT_UNITS_MAX} characters`);
  }
  const login = userClaim === 'sub' ? sub : claims[userClaim];
  if (typeof login !== 'string') throw claimMissing(userClaim, 'is not a text');
  const problem = nameProblem('login', login);
  if (problem !== null) throw claimMissing(userClaim, `${problem}, so it cannot be a login`);
  return { subject: sub, login };
}

/** A text is one group. A token without the claim leaves the groups of the user as they are. */
function groupsIn(payload: JWTPayload, claim: string | null): Pick<TokenUser, 'groups'> {
  const given = claim === null ? undefined : payload[claim];
  if (claim === null || given === undefined || given === null) return {};
  const groups: readonly unknown[] = [given].flat();
  const isGroup = (group: unknown): group is string =>
    typeof group === 'string' && nameProblem('group', group) === null;
  if (groups.every(isGroup) && groups.length <= GROUPS_PER_USER_MAX) return { groups };
  throw claimMissing(claim, `is not a list of at most ${GROUPS_PER_USER_MAX} names of groups`);
}

function claimMissing(claim: string, why: string): Refusal {
  return new Refusal('id_token_claims', `the claim ${JSON.stringify(claim)} of the token ${why}`);
}
