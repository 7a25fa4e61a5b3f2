import { parseJson } from '@tidemark/protocol';

/** What must never be in a log, by the name it is kept under: lower case, `-` as `_`. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  'token',
  'api_token',
  'access_token',
  'refresh_token',
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

/** Whether a line could hold a secret at all. Most do not, and cost no more than this look. */
const SUSPICIOUS = /token|passw|authori|cookie|device_?pin|secret|signature|tmk_/i;
/** A token of ours, wherever it stands: in a message, in a URL, in the text of an error. */
const TOKEN_TEXT = /\btmk_[0-9A-Za-z]{8,}/g;
/** A value in the query of a URL, or after a header's name in a text. */
const NAMED_IN_TEXT =
  /\b(token|api_token|access_token|x-sync-api-token|password|device_pin|authorization|cookie)(=|: ?)(?:Bearer |Basic )?[^\s&"',;]+/gi;
const MASK = '***';
const DEPTH_MAX = 32;

/** A line of the log without the secrets in it, at whatever depth they stand. */
export function maskSecrets(line: string): string {
  if (!SUSPICIOUS.test(line)) return line;
  try {
    return `${JSON.stringify(maskValue(parseJson(line), 0))}\n`;
  } catch {
    // Not a line of JSON. It must not be lost, so it is masked as the text it is.
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
  // Whether there was one at all is worth knowing, and no secret.
  return isSecret && member !== null && member !== undefined ? MASK : maskValue(member, depth + 1);
}

/** `devicePin`, `device-pin` and `Device_Pin` are one name. */
function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

function maskText(text: string): string {
  return text.replaceAll(TOKEN_TEXT, MASK).replaceAll(NAMED_IN_TEXT, `$1$2${MASK}`);
}
