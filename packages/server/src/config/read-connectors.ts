import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { DatabaseAddress, Mapping } from '@tidemark/postgres';
// The package as a whole loads the driver, which a server without connectors does not need.
import { MappingError } from '@tidemark/postgres/mapping/mapping-problems';
import { parseMapping } from '@tidemark/postgres/mapping/parse-mapping';
import { parseDatabaseUrl } from '@tidemark/postgres/sql/parse-url';
import { errorMessage } from '@tidemark/protocol';
import type { SettingProblem } from './config-problem.ts';
import { type ConnectorSetting, MAPPING_FILE, URL_VARIABLE } from './connector-settings.ts';
import type { Environment } from './read-environment.ts';
import { readSecret } from './read-secret-file.ts';
import { FILE_SUFFIX } from './settings.ts';

/** A connector as the code uses it. It contains the password of the database, so it is never shown. */
export interface ConnectorConfig {
  readonly name: string;
  readonly kind: 'postgres';
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  /** The mapping file as messages name it. */
  readonly mappingFile: string;
  /** The folder of the mapping file, where its modules are. Absent: the working folder. */
  readonly mappingFolder?: string;
}

/** Where variables and relative paths are looked up. */
export interface ConnectorPlaces {
  readonly env: Environment;
  /** The working folder, which paths of variables refer to. */
  readonly folder: string;
  /** The folder of the configuration file. */
  readonly fileFolder: string;
}

export interface ConnectorsRead {
  readonly connectors: readonly ConnectorConfig[];
  readonly problems: readonly SettingProblem[];
}

/** Sources name connectors as their adapter, and these are others. */
const RESERVED: ReadonlySet<string> = new Set(['backend', 'none']);

/** Reads the addresses and mappings of the connectors. Returns everything that is wrong with them. */
export function readConnectors(settings: readonly ConnectorSetting[], places: ConnectorPlaces): ConnectorsRead {
  const connectors: ConnectorConfig[] = [];
  const details: string[] = [];
  for (const setting of settings) {
    const { address, mapping } = { address: addressOf(setting, places), mapping: mappingOf(setting, places) };
    details.push(...[...address.problems, ...mapping.problems].map((detail) => `connector ${setting.name}: ${detail}`));
    if (address.value === undefined || mapping.value === undefined) continue;
    const { name, kind, mapping: path = MAPPING_FILE } = setting;
    connectors.push({
      name,
      kind,
      address: address.value,
      mapping: mapping.value,
      mappingFile: path,
      mappingFolder: dirname(resolve(places.fileFolder, path)),
    });
  }
  details.push(...conflicts(connectors));
  for (const { name } of connectors) {
    if (RESERVED.has(name))
      details.push(`connector ${name}: sources use this name for something else; choose another one`);
  }
  const problems = details.map((detail) => ({ setting: 'connectors', origin: 'connectors', detail }));
  return { connectors, problems };
}

/** The names of the variables that connectors take their address from. */
export function connectorVariables(settings: unknown): readonly string[] {
  const named = Array.isArray(settings)
    ? settings.map((one: unknown) => (one as Partial<ConnectorSetting>)?.url_env)
    : [];
  const names = [URL_VARIABLE, ...named.filter((name) => typeof name === 'string')];
  return names.flatMap((name) => [name, name + FILE_SUFFIX]);
}

interface Reading<T> {
  readonly value?: T;
  readonly problems: readonly string[];
}

function addressOf(setting: ConnectorSetting, places: ConnectorPlaces): Reading<DatabaseAddress> {
  const text = addressTextOf(setting, places);
  if (text.value === undefined) return { problems: text.problems };
  try {
    return { value: parseDatabaseUrl(text.value), problems: [] };
  } catch (error) {
    return { problems: [errorMessage(error)] };
  }
}

function addressTextOf(
  { url_env: variable = URL_VARIABLE, url_file: path }: ConnectorSetting,
  { env, folder, fileFolder }: ConnectorPlaces,
): Reading<string> {
  const [direct, named] = [env[variable] || null, env[variable + FILE_SUFFIX] || null];
  const given = [
    ...(path === undefined ? [] : ['url_file']),
    ...(direct === null ? [] : [variable]),
    ...(named === null ? [] : [variable + FILE_SUFFIX]),
  ];
  // A file that the connector names is its own; the variable may be that of another one.
  if (path !== undefined) return secretIn('url_file', path, fileFolder);
  if (given.length > 1) return { problems: [`${given.join(' and ')} are both set; leave one of them out`] };
  if (direct !== null) return { value: direct, problems: [] };
  if (named !== null) return secretIn(variable + FILE_SUFFIX, named, folder);
  const form = 'postgres://user:password@host:5432/database';
  return { problems: [`there is no address of a database; set ${variable} to ${form}, or url_file to a file with it`] };
}

function secretIn(origin: string, path: string, folder: string): Reading<string> {
  const { text, problem } = { text: '', problem: undefined, ...readSecret(resolve(folder, path)) };
  return problem === undefined ? { value: text, problems: [] } : { problems: [`${origin}: ${path} ${problem}`] };
}

function mappingOf(
  { mapping: path = MAPPING_FILE }: ConnectorSetting,
  { fileFolder }: ConnectorPlaces,
): Reading<Mapping> {
  const file = resolve(fileFolder, path);
  try {
    return { value: parseMapping(readFileSync(file, 'utf8'), path), problems: [] };
  } catch (error) {
    if (error instanceof MappingError) return { problems: error.problems };
    const { code = errorMessage(error) } = error as NodeJS.ErrnoException;
    const way = 'write a first one with tidemark connect postgres --init';
    const hint = code === 'ENOENT' ? `; ${way}` : '';
    return { problems: [`the mapping ${relative(fileFolder, file) || path} cannot be read (${code})${hint}`] };
  }
}

/** Two connectors would take the changes from each other, or each other's rows for ones that are gone. */
function conflicts(connectors: readonly ConnectorConfig[]): readonly string[] {
  const taken = new Map<string, string>();
  return connectors.flatMap(({ name, address, mapping }) => {
    const { host, port } = address;
    const slot = [JSON.stringify([host, port, mapping.slot]), `the slot ${mapping.slot}`] as const;
    const sources = Object.values(mapping.tables).map(
      ({ source }) => [`source ${source}`, `the source ${source}`] as const,
    );
    return [slot, ...sources].flatMap(([key, what]) => {
      const other = taken.get(key);
      if (other === undefined) taken.set(key, name);
      return other === undefined || other === name ? [] : [`connectors ${other} and ${name} both have ${what}`];
    });
  });
}
