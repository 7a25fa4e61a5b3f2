import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseJson } from '@tidemark/protocol';
import { isLoopback } from '@tidemark/server/config/config-warnings';
import { isOpenToOthers } from '@tidemark/server/config/read-secret-file';
import { CliFailure, usageFailure } from './cli-failure.ts';

export interface Credential {
  readonly login: string;
  readonly token: string;
  readonly expires_at: string | null;
}

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/** Stores the tokens of `tidemark login`, one per server, in a file that only its owner can read. */
export class Credentials {
  readonly file: string;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.file = join(configFolder(env), 'tidemark', 'credentials.json');
  }

  find(url: string): Credential | null {
    return this.#read().get(url) ?? null;
  }

  keep(url: string, credential: Credential): void {
    this.#write(new Map([...this.#read(), [url, credential]]));
  }

  forget(url: string): void {
    const all = new Map(this.#read());
    if (all.delete(url)) this.#write(all);
  }

  #read(): ReadonlyMap<string, Credential> {
    let text: string;
    try {
      if (isOpenToOthers(statSync(this.file).mode)) throw this.#failure('can be read by everybody on this machine');
      text = readFileSync(this.file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
      throw error;
    }
    try {
      return new Map(Object.entries(parseJson(text) as Record<string, Credential>));
    } catch {
      throw this.#failure('is damaged');
    }
  }

  /** Writes a temporary file and renames it, so that the file is never incomplete or readable by others. */
  #write(all: ReadonlyMap<string, Credential>): void {
    mkdirSync(dirname(this.file), { recursive: true, mode: PRIVATE_FOLDER });
    const aside = `${this.file}.${process.pid}`;
    writeFileSync(aside, `${JSON.stringify(Object.fromEntries(all), null, 2)}\n`, { mode: PRIVATE_FILE });
    chmodSync(aside, PRIVATE_FILE);
    renameSync(aside, this.file);
  }

  #failure(what: string): CliFailure {
    return new CliFailure(`${this.file} ${what}`, { hint: 'remove it and log in again' });
  }
}

function configFolder(env: Readonly<Record<string, string | undefined>>): string {
  if (env.XDG_CONFIG_HOME) return env.XDG_CONFIG_HOME;
  if (process.platform === 'win32' && env.APPDATA) return env.APPDATA;
  return join(env.HOME || homedir(), '.config');
}

const ID_UNITS = 16;

/** Returns the id under which a server lists a token: the first characters of the token's SHA-256. */
export function tokenIdOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, ID_UNITS);
}

export const DEFAULT_URL = 'http://127.0.0.1:9292';

/** Normalises the URL of a server, so that the token stored for it is found again. A path prefix is allowed. */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.search !== '' || url.hash !== '') {
    throw usageFailure(
      `${JSON.stringify(text)} is not the URL of a server`,
      `it looks like ${DEFAULT_URL} or https://sync.example`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw usageFailure('a URL must not carry a login or password', 'use tidemark login');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** True when the token would travel unencrypted over a network. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
