import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const MORE_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];

/** Where Debian keeps its versions of Postgres. */
const POSTGRES = '/usr/lib/postgresql';

export interface WantedProgram {
  /** Any will do; the first that is found is used. */
  readonly names: readonly string[];
  /** An environment variable that may name it. */
  readonly variable: string;
}

/** Returns the path of a program that `npm test` installs when it is missing. */
export function findProgram({ names, variable }: WantedProgram): string {
  const named = process.env[variable] ?? '';
  if (named !== '') return named;
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...path, ...MORE_FOLDERS, ...postgresFolders()];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
  if (found === undefined) throw new Error(`there is no ${names.join(' or ')} here: run node scripts/programs.mjs`);
  return found;
}

/** The newest version comes first. */
function postgresFolders(): string[] {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES) : [];
  return versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(POSTGRES, version, 'bin'));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
