import { parseJson } from '@tidemark/protocol';

/** Names of secrets: lower case, with `_` for `-`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'token',
  'api_token',
  'access_token',
  'refresh_token',
  'id_token',
  'invite',
  'x_sync_api_token',
  'password',
  'new_password',
  'old_password',
  'admin_password',
  'generated_password',
  'hashed_password',
  'authorization',
  'proxy_authorization',
  'cookie',
  'cookies',
  'set_cookie',
  'device_pin',
  'devicepin',
  'apns_key',
  'fcm_account',
  'private_key',
  'secret',
  'webhook_secret',
  'webhook_signature',
]);

/** Quick test whether a line could hold a secret. Most do not; the id of a token is none. */
const SUSPICIOUS = /token(?!_id")|passw|authori|cookie|device_?pin|secret|signature|invite"|tm[ki]_/i;
/** A token or the code of an invite anywhere in a text. */
const TOKEN_TEXT = /\btm[ki]_[0-9A-Za-z]{8,}/g;
/** A value in the query of a URL, or after a header name in a text. */
const NAMED_IN_TEXT =
  /\b(token|api_token|access_token|id_token|x-sync-api-token|password|device_pin|authorization|cookie)(=|: ?)(?:Bearer |Basic )?[^\s&"',;]+/gi;
const MASK = '***';
const DEPTH_MAX = 32;

/** Masks the secrets in a log line, at any depth. */
export function maskSecrets(line: string): string {
  if (!SUSPICIOUS.test(line)) return line;
  try {
    return `${JSON.stringify(maskValue(parseJson(line), 0))}\n`;
  } catch {
    // Not JSON: the line is kept and masked as text.
    return maskText(line);
  }
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEPTH_MAX) return MASK;
  if (Array.isArray(value)) return value.map((one) => maskValue(one, depth + 1));
  const members = Object.entries(value).map(([name, member]) => [maskText(name), maskMember(name, member, depth)]);
  return Object.fromEntries(members);
}

function maskMember(name: string, member: unknown, depth: number): unknown {
  const isSecret = SECRET_NAMES.has(snakeCase(name));
  // Null and undefined are shown: it helps to know that there was no value.
  return isSecret && member !== null && member !== undefined ? MASK : maskValue(member, depth + 1);
}

/** `devicePin`, `device-pin` and `Device_Pin` count as the same name. */
function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

function maskText(text: string): string {
  return text.replaceAll(TOKEN_TEXT, MASK).replaceAll(NAMED_IN_TEXT, `$1$2${MASK}`);
}
