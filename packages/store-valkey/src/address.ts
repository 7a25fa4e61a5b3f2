/** The address of a store. */
export type Address =
  | { readonly kind: 'single'; readonly node: Node; readonly access: Access }
  | { readonly kind: 'cluster'; readonly nodes: readonly Node[]; readonly access: Access }
  | {
      readonly kind: 'sentinel';
      readonly nodes: readonly Node[];
      /** What the sentinels call the primary. */
      readonly name: string;
      readonly access: Access;
      /** Sentinels have logins of their own, separate from those of the servers they watch. */
      readonly sentinelAccess: Login;
    };

export interface Node {
  readonly host: string;
  readonly port: number;
}

export interface Login {
  readonly username: string | null;
  readonly password: string | null;
}

export interface Access extends Login {
  readonly isEncrypted: boolean;
  readonly database: number;
}

const PORT_DEFAULT = 6379;
const SENTINEL_PORT_DEFAULT = 26379;
const PORT_MAX = 65_535;
const DATABASE_MAX = 1_000;
const FORM = /^(valkeys?|rediss?)(\+cluster|\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/;
const NODE = /^(\[[0-9a-fA-F:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/;

/** Completes "the setting …". */
export const ADDRESS_RULE =
  'must be like valkey://host:6379, valkeys:// for TLS, valkey+cluster://host,host or valkey+sentinel://host,host/name';

/** Returns null for anything else. A scheme may say `redis` instead of `valkey`. */
export function readAddress(text: string): Address | null {
  const [, scheme = '', kind = '', login, hosts = '', path = ''] = FORM.exec(text) ?? [];
  const nodes = hosts.split(',').map((host) => readNode(host, kind === '+sentinel'));
  if (hosts === '' || nodes.includes(null)) return null;
  const known = nodes as Node[];
  const credentials = readLogin(login);
  if (credentials === null) return null;
  const access = { ...credentials, isEncrypted: scheme.endsWith('s') && scheme !== 'redis' && scheme !== 'valkey' };
  if (kind === '+sentinel') {
    if (path === '') return null;
    const sentinelAccess = { username: null, password: null };
    return { kind: 'sentinel', nodes: known, name: path, access: { ...access, database: 0 }, sentinelAccess };
  }
  if (kind === '+cluster')
    return path === '' ? { kind: 'cluster', nodes: known, access: { ...access, database: 0 } } : null;
  const database = path === '' ? 0 : /^\d{1,4}$/.test(path) ? Number(path) : DATABASE_MAX;
  const [node] = known;
  if (node === undefined || known.length > 1 || database >= DATABASE_MAX) return null;
  return { kind: 'single', node, access: { ...access, database } };
}

/** The address without login and password. */
export function shownAddress(text: string): string {
  return text.replace(/\/\/[^@/]*@/, '//***@');
}

function readNode(text: string, isSentinel: boolean): Node | null {
  const [, host, port] = NODE.exec(text) ?? [];
  if (host === undefined) return null;
  const number = port === undefined ? (isSentinel ? SENTINEL_PORT_DEFAULT : PORT_DEFAULT) : Number(port);
  if (number < 1 || number > PORT_MAX) return null;
  return { host: host.replace(/^\[|\]$/g, ''), port: number };
}

function readLogin(login: string | undefined): Login | null {
  if (login === undefined) return { username: null, password: null };
  const colon = login.indexOf(':');
  const username = colon < 0 ? login : login.slice(0, colon);
  const password = colon < 0 ? '' : login.slice(colon + 1);
  try {
    return { username: decodeURIComponent(username) || null, password: decodeURIComponent(password) || null };
  } catch {
    return null;
  }
}
