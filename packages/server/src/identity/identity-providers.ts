import type { Clock, Identities, Log } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { decodeJwt } from 'jose';
import type { DeviceUser } from '../auth/device-user.ts';
import type { AdminSignInConfig } from '../config/admin-sign-in-settings.ts';
import type { Config } from '../config/config.ts';
import type { IssuerConfig } from '../config/issuer-settings.ts';
import { systemTimers } from '../jobs/timers.ts';
import { ISSUER_ANSWER_BYTES_MAX, ISSUER_TIMEOUT_MS } from '../limits.ts';
import { type Resolve, systemResolve } from '../outbound/checked-lookup.ts';
import { getJson, postForm } from '../outbound/get-json.ts';
import { AdminSignIn } from './admin-sign-in.ts';
import { KeySet } from './key-set.ts';
import { type ProviderToken, requireShort, verifyToken } from './verify-token.ts';

export interface IdentityProvidersParts {
  readonly issuers: readonly IssuerConfig[];
  readonly adminSignIn: AdminSignInConfig | null;
  readonly denyPrivate: boolean;
  readonly identities: Identities;
  readonly clock: Clock;
  readonly steadyClock: Clock;
  readonly log: Log;
  readonly resolve?: Resolve;
}

export function openProviders(
  { issuers, adminSignIn, backend: { denyPrivate } }: Config,
  parts: Pick<IdentityProvidersParts, 'identities' | 'clock' | 'steadyClock' | 'log'>,
): IdentityProviders {
  return new IdentityProviders({ ...parts, issuers, adminSignIn, denyPrivate });
}

interface Provider {
  readonly issuer: IssuerConfig;
  readonly keys: KeySet;
}

/** The configured identity providers. */
export class IdentityProviders {
  readonly #identities: Identities;
  readonly #clock: Clock;
  /** By issuer. */
  readonly #providers: ReadonlyMap<string, Provider>;
  /** How administrators sign in with one of them; null: they do not. */
  readonly admins: AdminSignIn | null;

  constructor(parts: IdentityProvidersParts) {
    this.#identities = parts.identities;
    this.#clock = parts.clock;
    const limits = { timeoutMs: ISSUER_TIMEOUT_MS, bytesMax: ISSUER_ANSWER_BYTES_MAX, timers: systemTimers };
    const outbound = { ...limits, resolve: parts.resolve ?? systemResolve, rules: { denyPrivate: parts.denyPrivate } };
    this.#providers = new Map(
      parts.issuers.map((issuer) => {
        const keys = new KeySet({ ...parts, issuer, getJson: (url) => getJson(url, outbound) });
        return [issuer.issuer, { issuer, keys }];
      }),
    );
    const { adminSignIn: client } = parts;
    const provider = [...this.#providers.values()].find(({ issuer }) => issuer.name === client?.issuer);
    this.admins =
      client === null || provider === undefined
        ? null
        : new AdminSignIn({
            ...parts,
            ...provider,
            client,
            getJson: (url) => getJson(url, outbound),
            postForm: (url, form) => postForm(url, form, outbound),
          });
  }

  /** The names of the identity providers. */
  get names(): readonly string[] {
    return [...this.#providers.values()].map(({ issuer }) => issuer.name);
  }

  /** Returns the user whom the token stands for, who may be created by this. Refuses every other token. */
  async signIn(token: ProviderToken): Promise<DeviceUser> {
    const { issuer, keys } = this.#providerOf(token.text);
    const { subject, login, groups } = await verifyToken(token, issuer, keys, this.#clock.nowMs());
    const identity = { issuer: issuer.issuer, subject };
    const { createsUsers: mayCreate, adoptsUsers: mayAdopt } = issuer;
    const user = await this.#identities.userOf({ ...identity, login, mayCreate, mayAdopt });
    return { login: user, identity, ...(groups === undefined ? {} : { groups }) };
  }

  /** The issuer is not verified yet: it only decides whose keys the token is checked with. */
  #providerOf(text: string): Provider {
    requireShort(text);
    const issuer = issuerIn(text);
    const provider = issuer === undefined ? undefined : this.#providers.get(issuer);
    if (provider === undefined) throw new Refusal('id_token_issuer', 'the claim iss names no configured issuer');
    return provider;
  }
}

function issuerIn(text: string): string | undefined {
  try {
    return decodeJwt(text).iss;
  } catch {
    throw new Refusal('id_token_invalid', 'the token is not a JWT');
  }
}
