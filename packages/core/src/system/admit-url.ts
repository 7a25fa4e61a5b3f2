import { pointer, Refusal, URL_UNITS_MAX } from '@tidemark/protocol';
import { addressClass } from './address-class.ts';

export interface UrlRules {
  /** The origins of this server, which cannot be its own backend. */
  readonly ownOrigins: readonly string[];
  /** True: loopback and private addresses are refused, too. They are allowed by default, because backends use them. */
  readonly denyPrivate?: boolean;
}

/** Names that clouds resolve to their metadata services. */
const METADATA_NAMES: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);

const PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * Checks the URL of a backend and returns it unchanged. Host names are not resolved here; each connection checks the
 * resolved address by `addressClass`.
 */
export function admitUrl(url: unknown, rules: UrlRules): string {
  if (typeof url !== 'string') {
    const detail = 'must be a string';
    throw new Refusal('invalid_request', `adapter_url ${detail}`, [{ pointer: pointer('adapter_url'), detail }]);
  }
  const problem = textProblem(url) ?? urlProblem(new URL(url), rules);
  // The URL is not repeated: it may carry a password.
  if (problem === null) return url;
  throw new Refusal('url_not_allowed', `adapter_url ${problem}`, [
    { pointer: pointer('adapter_url'), detail: problem },
  ]);
}

/** Checks the text of the URL, because the parser silently corrects many mistakes. */
function textProblem(url: string): string | null {
  if (url.length > URL_UNITS_MAX) return `is longer than ${URL_UNITS_MAX} characters`;
  if (!/^https?:\/\/[^/]/i.test(url)) return 'must begin with http:// or https:// and a host';
  if (/[\s\\\p{Cc}]/u.test(url) || !url.isWellFormed()) return 'contains a character that is not allowed';
  // The parser drops an empty login, so the text is checked.
  if (/^[^/]+\/\/[^/?#]*@/.test(url)) return 'must not contain a login or password';
  return URL.canParse(url) ? null : 'is not a URL';
}

function urlProblem(url: URL, rules: UrlRules): string | null {
  if (url.username !== '' || url.password !== '') return 'must not contain a login or password';
  // The names of calls are appended to the path.
  if (/[?#]/.test(url.href)) return 'must not have a query or a fragment';
  const host = plainHost(url);
  const address = addressClass(host);
  if (address === 'forbidden' || METADATA_NAMES.has(host)) return 'leads to an address that is never allowed';
  if (rules.ownOrigins.some((origin) => isSameServer(url, new URL(origin)))) return 'leads back to this server';
  const isPrivate = address === 'private' || isLoopback(host);
  return isPrivate && rules.denyPrivate === true ? 'leads to a private address' : null;
}

/** Returns the host without a dot at its end, which does not change its meaning. */
function plainHost(url: URL): string {
  return url.hostname.replace(/\.$/, '');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || addressClass(host) === 'loopback';
}

/** Ignores the scheme, because one port has one listener. A server on all interfaces also listens on loopback. */
function isSameServer(url: URL, own: URL): boolean {
  if ((url.port || PORTS[url.protocol]) !== (own.port || PORTS[own.protocol])) return false;
  const host = plainHost(url);
  const ownHost = plainHost(own);
  const isLocal = isLoopback(ownHost) || ownHost === '0.0.0.0' || ownHost === '[::]';
  return host === ownHost || (isLocal && isLoopback(host));
}
