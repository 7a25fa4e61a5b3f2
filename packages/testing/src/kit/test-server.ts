import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Passwords } from '@tidemark/core';
import { compose, type Running } from '@tidemark/server';
import type { Config } from '@tidemark/server/config/config';
import { readConfig } from '@tidemark/server/config/load-config';
import { openLog, type ServerLog } from '@tidemark/server/open-log';
import { weakPasswords } from './weak-passwords.ts';

/** A password that is not warned about and does not occur in answers by chance. */
export const ADMIN_PASSWORD = 'kelp-forest-9341';

export interface TestServer extends Running {
  readonly folder: string;
  readonly config: Config;
  readonly port: number;
  /** A token of the administrator with all scopes. */
  readonly token: string;
  /** Stops the server and removes its folder. */
  close(): Promise<void>;
}

/** Hashes passwords at a cost that protects nobody. Servers on one store must hash in the same way. */
export const fastPasswords = weakPasswords({ bytes: randomBytes });

const silent = () => undefined;

/** A silent log that passes error lines to `onFault`. */
export function silentLog(onFault: (line: string) => void = silent): ServerLog {
  return openLog({ level: 'error', format: 'json', stream: { write: onFault } });
}

/** Starts a server in this process, with its own port and folder, and by default with passwords that are hashed fast. */
export async function startTestServer(
  changes: Partial<Config> = {},
  log: ServerLog = silentLog(),
  passwords: Passwords = fastPasswords,
): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-test-'));
  const config = { ...testConfig(folder), ...changes };
  const running = await compose(config, log, { passwords });
  const close = async () => {
    await running.close();
    await rm(folder, { recursive: true, force: true });
  };
  const port = Number(new URL(running.url).port);
  return { ...running, folder, config, port, token: await logIn(running.url), close };
}

export function testConfig(folder: string): Config {
  const env = { TIDEMARK_PORT: '0', TIDEMARK_DATA: folder, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD };
  // On a slow machine, tests must depend neither on the time a pull waits for a backend nor on the event loop delay.
  const patience = { TIDEMARK_BACKEND_PULL_WAIT_MS: '60000', TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '600000' };
  return readConfig({ ...env, ...patience });
}

/** Returns a token of the administrator. */
export async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/rc/v1/system/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: 'admin', password: ADMIN_PASSWORD }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`the login was answered ${response.status}: ${text}`);
  return text;
}
