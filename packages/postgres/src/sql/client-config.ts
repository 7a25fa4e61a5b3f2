import { readFileSync } from 'node:fs';
import type { ClientConfig, CustomTypesConfig } from 'pg';
import type { DatabaseAddress } from './parse-url.ts';

/** How values are written as text. The stream and the copy use the same, so that both give the same JSON. */
const SESSION = {
  client_encoding: 'UTF8',
  DateStyle: 'ISO, YMD',
  IntervalStyle: 'iso_8601',
  TimeZone: 'UTC',
  extra_float_digits: '1',
  bytea_output: 'hex',
  xmloption: 'content',
};

const CONNECT_MS_MAX = 15_000;
/** A peer that is gone without a word is noticed minutes after this. */
const KEEP_ALIVE_MS = 60_000;

/** Types by their number whose values are not text; all others are as the server writes them. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'], // bool
  [21, Number], // int2
  [23, Number], // int4
  [26, Number], // oid
  [700, Number], // float4
  [701, Number], // float8
  [114, JSON.parse], // json
  [3802, JSON.parse], // jsonb
]);

const asText = (text: string) => text;

/** Values of SELECT as JavaScript has them. */
const PARSED: CustomTypesConfig = { getTypeParser: (typeId: number) => PARSERS.get(typeId) ?? asText };
/** Values of SELECT as the server writes them. */
export const TEXTS: CustomTypesConfig = { getTypeParser: () => asText };

/** Where names without a schema are looked up: `role`: as the role and the database say; `catalogue`: only among those of Postgres. */
export type NameLookup = 'role' | 'catalogue';

export function clientConfig(
  address: DatabaseAddress,
  applicationName: string,
  lookup: NameLookup = 'role',
): ClientConfig {
  const { host, port, database, user, password } = address;
  return {
    host,
    port,
    database,
    user,
    // An empty one as text would be looked for in the environment and in the home folder.
    password: () => password,
    ssl: tlsOptions(address),
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: applicationName,
    options: lookup === 'role' ? SESSION_OPTIONS : `${SESSION_OPTIONS} -c search_path=pg_catalog,pg_temp`,
    types: PARSED,
  };
}

/** As the server reads them when a connection starts: they are stronger than those of the role and of the database. */
const SESSION_OPTIONS = Object.entries(SESSION)
  .map(([name, value]) => `-c ${name}=${value.replaceAll(/[\\ ]/g, '\\$&')}`)
  .join(' ');

function tlsOptions({ tls, rootCertificateFile }: DatabaseAddress): NonNullable<ClientConfig['ssl']> {
  if (tls === 'off') return false;
  if (tls === 'encrypt') return { rejectUnauthorized: false };
  return rootCertificateFile === null ? {} : { ca: readFileSync(rootCertificateFile, 'utf8') };
}
