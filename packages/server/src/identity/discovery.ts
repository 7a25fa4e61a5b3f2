import { isTrustedUrl } from '../config/issuer-settings.ts';
import { FetchFailure } from '../outbound/get-json.ts';

const DISCOVERY_PATH = '/.well-known/openid-configuration';

/** The discovery document of an issuer. Its addresses are not checked yet; `trustedUrl` does that. */
export type Discovery = Readonly<Record<string, unknown>>;

/** Fetches the discovery document, and refuses one that names another issuer. */
export async function discover(issuer: string, getJson: (url: URL) => Promise<unknown>): Promise<Discovery> {
  const document = ((await getJson(new URL(`${issuer.replace(/\/$/, '')}${DISCOVERY_PATH}`))) ?? {}) as Discovery;
  if (document.issuer !== issuer) throw new FetchFailure('the discovery document names another issuer');
  return document;
}

/** Returns an address in the discovery document. */
export function trustedUrl(document: Discovery, name: string): URL {
  const url = document[name];
  if (typeof url !== 'string' || !isTrustedUrl(url)) throw new FetchFailure(`${name} is not an https URL`);
  return new URL(url);
}
