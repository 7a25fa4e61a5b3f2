import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Device, DeviceOptions, LocalStore } from '@tidemark/client';
import { parseJson } from '@tidemark/protocol';
import { readVersion } from '@tidemark/server/version';
import { CliFailure, EXIT, type ExitCode, usageFailure } from './cli-failure.ts';

/** What the folder stores besides the device's own data. */
interface DeviceFacts {
  readonly url: string;
  readonly isOffline: boolean;
  /** What administrators see as its name; absent: the name of this computer. */
  readonly name?: string;
  /** True: the device keeps its data in SQLite. */
  readonly isSqlite?: boolean;
}

export interface DeviceFolderOptions {
  /** False: the device stays offline and only shows what it holds. */
  readonly network: boolean;
  readonly live?: boolean;
}

const UNAVAILABLE: ReadonlySet<string> = new Set(['offline', 'unreachable', 'bad_answer', 'aborted']);
const NOT_ALLOWED: ReadonlySet<string> = new Set(['signed_out', 'sign_in_required', 'invalid_credentials']);

/** A simulated device with its folder. */
export class DeviceFolder {
  readonly #path: string;
  readonly #file: string;

  constructor(path: string) {
    this.#path = path;
    this.#file = join(path, 'device.json');
  }

  get facts(): DeviceFacts {
    if (!existsSync(this.#file)) {
      throw usageFailure(`there is no device in ${this.#path}`, 'make one with tidemark device login');
    }
    return parseJson(readFileSync(this.#file, 'utf8')) as DeviceFacts;
  }

  /** Refuses another server or store: the data of a device belongs to the server it came from. */
  settle(url: string, { name, isSqlite = false }: Pick<DeviceFacts, 'name' | 'isSqlite'>): void {
    const known = existsSync(this.#file) ? this.facts : null;
    if (known !== null && known.url !== url) {
      throw usageFailure(
        `the device in ${this.#path} belongs to ${known.url}`,
        'use another --folder for another server',
      );
    }
    if (known !== null && isSqlite && known.isSqlite !== true) {
      throw usageFailure(
        `the device in ${this.#path} keeps its data in files`,
        'use another --folder for one with SQLite',
      );
    }
    if (known !== null && name === undefined) return;
    const made = { url, isOffline: false, ...(isSqlite ? { isSqlite } : {}) };
    this.#keep({ ...(known ?? made), ...(name === undefined ? {} : { name }) });
  }

  setOffline(isOffline: boolean): void {
    this.#keep({ ...this.facts, isOffline });
  }

  /** Opens the device for `work` and always closes it. Errors of the SDK become `CliFailure`s. */
  async use<T>(request: DeviceFolderOptions, work: (device: Device) => Promise<T>): Promise<T> {
    const { url, isOffline } = this.facts;
    try {
      const device = await this.#open({ live: request.live === true }, request.network && !isOffline);
      try {
        return await work(device);
      } finally {
        await device.close();
      }
    } catch (error) {
      throw await failureOf(error, url);
    }
  }

  /** Loads the SDK on demand, so that other commands start quickly. */
  async #open(options: Pick<DeviceOptions, 'live'>, isOnline: boolean): Promise<Device> {
    const { url, name = hostname(), isSqlite = false } = this.facts;
    const { openDevice } = await import('@tidemark/client');
    const network = { isOnline: () => isOnline, onChange: () => () => undefined };
    const store = await (isSqlite ? this.#openSqlite() : this.#openFiles());
    const about = { app: 'tidemark device', version: readVersion(), name };
    return openDevice({ url, store, about, platform: { network }, ...options });
  }

  async #openFiles(): Promise<LocalStore> {
    const { openFileStore } = await import('@tidemark/client/file-store');
    return openFileStore(join(this.#path, 'data'));
  }

  async #openSqlite(): Promise<LocalStore> {
    const { openSqliteFile } = await import('./sqlite-file.ts');
    return openSqliteFile(join(this.#path, 'data.sqlite'));
  }

  /** Writes a temporary file and renames it, so that the file is never incomplete. */
  #keep(facts: DeviceFacts): void {
    mkdirSync(this.#path, { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#file}.new`, `${JSON.stringify(facts)}\n`, { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

async function failureOf(error: unknown, url: string): Promise<unknown> {
  const { ClientError } = await import('@tidemark/client');
  if (!(error instanceof ClientError)) return error;
  const { code, message } = error;
  const hint = hintOf(code, url);
  return new CliFailure(message, { code, exitCode: exitCodeOf(code), ...(hint === undefined ? {} : { hint }) });
}

function exitCodeOf(code: string): ExitCode {
  if (UNAVAILABLE.has(code)) return EXIT.unavailable;
  return NOT_ALLOWED.has(code) ? EXIT.notAllowed : EXIT.failed;
}

function hintOf(code: string, url: string): string | undefined {
  if (code === 'offline') return 'bring it back with tidemark device online';
  if (code === 'unreachable') return `is there a server at ${url}?`;
  return code === 'signed_out' || code === 'sign_in_required' ? 'sign in with tidemark device login' : undefined;
}
