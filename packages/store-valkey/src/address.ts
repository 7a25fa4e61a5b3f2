/** The address of a store. */
export type Address =
  | { readonly kind: 'single'; readonly node: Node; readonly access: Access }
  | { readonly kind: 'cluster'; readonly nodes: readonly Node[]; readonly access: Access }
  | {
      readonly kind: 'sentinel';
      readonly nodes: readonly Node[];
      /** The name of the primary in the configuration of the sentinels. */
      readonly name: string;
      readonly access: Access;
      /** The login of the sentinels, which is separate from that of the servers they watch. */
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
const ENCRYPTED: ReadonlySet<string> = new Set(['valkeys', 'rediss']);
const FORM = /^(valkeys?|rediss?)(\+cluster|\+sentinel)?:\/\/(?:([^@/]*)@)?([^/?#]+)(?:\/([^?#]*))?$/;
const NODE = /^(\[[0-9a-fA-F:.]+\]|[^:\s]+)(?::(\d{1,5}))?$/;

/** The end of an error message that begins with the name of a setting. */
export const ADDRESS_RULE =
  'must be like valkey://host:6379, valkeys:// for TLS, valkey+cluster://host,host or valkey+sentinel://host,host/name';

/** Returns null for a text that is not an address. A scheme may say `redis` instead of `valkey`. */
export function readAddress(text: string): Address | null {
  const [, scheme = '', kind = '', login, hosts = '', path = ''] = FORM.exec(text) ?? [];
  const nodes = readNodes(hosts, kind === '+sentinel' ? SENTINEL_PORT_DEFAULT : PORT_DEFAULT);
  const credentials = readLogin(login);
  if (nodes === null || credentials === null) return null;
  const access = { ...credentials, isEncrypted: ENCRYPTED.has(scheme), database: 0 };
  if (kind === '+sentinel') {
    const sentinelAccess = { username: null, password: null };
    return path === '' ? null : { kind: 'sentinel', nodes, name: path, access, sentinelAccess };
  }
  if (kind === '+cluster') return path === '' ? { kind: 'cluster', nodes, access } : null;
  const database = readDatabase(path);
  const [node, ...others] = nodes;
  if (node === undefined || others.length > 0 || database === null) return null;
  return { kind: 'single', node, access: { ...access, database } };
}

/** Returns the address without login and password. */
export function shownAddress(text: string): string {
  return text.replace(/\/\/[^@/]*@/, '//***@');
}

function readNodes(hosts: string, portDefault: number): readonly Node[] | null {
  const nodes = hosts.split(',').map((host) => readNode(host, portDefault));
  return nodes.every((node) => node !== null) ? nodes : null;
}

function readNode(text: string, portDefault: number): Node | null {
  const [, host, portText] = NODE.exec(text) ?? [];
  if (host === undefined) return null;
  const port = portText === undefined ? portDefault : Number(portText);
  return port < 1 || port > PORT_MAX ? null : { host: host.replace(/^\[|\]$/g, ''), port };
}

function readDatabase(path: string): number | null {
  if (path === '') return 0;
  const database = /^\d{1,4}$/.test(path) ? Number(path) : DATABASE_MAX;
  return database < DATABASE_MAX ? database : null;
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
