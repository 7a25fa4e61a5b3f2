import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './find-program.ts';
import { type PostgresServer, serverUser } from './postgres-server.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { freePort } from './valkey-server.ts';

interface PgBouncer {
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts the pooler before a server. Whoever connects is let in with the password of the superuser. */
export async function startPgBouncer(
  { port: server, url }: PostgresServer,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer> {
  const folder = await temporaryFolder();
  await chmod(folder.path, 0o755);
  const port = await freePort();
  const { username, password } = new URL(url);
  await writeFile(join(folder.path, 'users'), `"${username}" "${password}"\n`);
  const all = {
    ...{ listen_addr: '127.0.0.1', listen_port: String(port), unix_socket_dir: '', auth_type: 'scram-sha-256' },
    auth_file: join(folder.path, 'users'),
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  const file = join(folder.path, 'pgbouncer.ini');
  await writeFile(file, `[databases]\n* = host=127.0.0.1 port=${server}\n[pgbouncer]\n${lines.join('\n')}\n`);
  const child = spawn(findProgram({ names: ['pgbouncer'], variable: 'TIDEMARK_PGBOUNCER' }), [file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    cwd: tmpdir(),
    ...serverUser(),
  });
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`PgBouncer did not start:\n${said}`)));
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-5_000);
      if (said.includes('process up')) resolve();
    });
  });
  return {
    port,
    async stop() {
      const ended = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await ended;
      await folder.remove();
    },
  };
}
