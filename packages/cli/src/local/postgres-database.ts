import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type Catalogue,
  type DatabaseAddress,
  type Mapping,
  MappingError,
  openSql,
  parseDatabaseUrl,
  parseMapping,
  readCatalogue,
} from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import { readSecret } from '@tidemark/server/config/read-secret-file';
import type { Cli } from '../cli.ts';
import { CliFailure, EXIT, usageFailure } from '../cli-failure.ts';

export const MAPPING_FILE = 'tidemark-postgres.jsonc';
export const URL_VARIABLE = 'TIDEMARK_POSTGRES_URL';

/** Reads what the database says about its tables. */
export function catalogueOf(address: DatabaseAddress): Promise<Catalogue> {
  return reached(async () => {
    const sql = openSql(address, { connections: 1, lookup: 'catalogue' });
    try {
      return await readCatalogue(sql);
    } finally {
      await sql.end();
    }
  });
}

/** The address has a password in it, so it is never a flag: other users of the machine could see it. */
export function addressOf(cli: Cli, variable: string): DatabaseAddress {
  const text = cli.env[variable] || secretOf(cli, `${variable}_FILE`);
  if (text === null) {
    throw usageFailure(
      'there is no address of a database',
      `set ${variable} to postgres://user:password@host:5432/database, or ${variable}_FILE to a file with it`,
    );
  }
  try {
    return parseDatabaseUrl(text);
  } catch (error) {
    throw new CliFailure(`${variable}: ${errorMessage(error)}`, { exitCode: EXIT.config });
  }
}

export function secretOf(cli: Cli, variable: string): string | null {
  const path = cli.env[variable];
  if (!path) return null;
  const read = readSecret(resolve(cli.folder, path));
  if (read.problem === undefined) return read.text;
  throw new CliFailure(`${variable}: ${path} ${read.problem}`, { exitCode: EXIT.config });
}

export function mappingOf(file: string, shown: string): Mapping {
  if (!existsSync(file))
    throw usageFailure(`there is no mapping ${shown}`, 'write a first one with tidemark connect postgres --init');
  return fitting(shown, () => parseMapping(readFileSync(file, 'utf8'), shown));
}

/** Says what is wrong with a mapping if it is not valid, or does not fit the database. */
export function fitting<T>(shown: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof MappingError)) throw error;
    throw new CliFailure(`${shown} is not a valid mapping`, { exitCode: EXIT.config, places: error.problems });
  }
}

/** SQLSTATE of a wrong password or an unknown role. */
const NOT_ALLOWED = ['28P01', '28000'];

/** Calls the database, and says what keeps it from answering. */
export async function reached<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const code = (error as { readonly code?: unknown }).code;
    if (typeof code !== 'string') throw error;
    const exitCode = NOT_ALLOWED.includes(code) ? EXIT.notAllowed : EXIT.unavailable;
    throw new CliFailure(`the database cannot be read: ${errorMessage(error)}`, { exitCode, code });
  }
}
