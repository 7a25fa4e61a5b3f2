import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isEntry, runQuietly } from './processes.mjs';
import { withLock } from './with-lock.mjs';

/** Either will do; the first that is found is taken. */
export const SERVERS = ['valkey-server', 'redis-server'];
/** Where they lie on machines whose PATH is short, unless TIDEMARK_VALKEY_FOLDERS says otherwise. */
const MORE_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];
const PACKAGE = 'redis-server';
const TAIL_LINES = 20;

/**
 * Installs the package without ever starting its service: the tests start servers of their own. A `policy-rc.d` that is
 * there already stays as it is. The list of packages is fetched only when the package is not found without.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends ${PACKAGE}; }
install || { apt-get update -q && install; }`;

/** Why there is no server, and what to do about it. */
export class NoServer extends Error {
  constructor(reason, output = '') {
    super(
      `the tests of the Valkey engine need ${SERVERS.join(' or ')}, and ${reason}; install one of them (on Debian and ` +
        `Ubuntu: apt-get install ${PACKAGE}), or name it in TIDEMARK_VALKEY_SERVER`,
    );
    this.name = 'NoServer';
    this.tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }
}

/** The path of a server on this machine; null when there is none. */
export function findServer(env = process.env) {
  const named = env.TIDEMARK_VALKEY_SERVER ?? '';
  if (named !== '') return isProgram(named) ? named : null;
  const more = env.TIDEMARK_VALKEY_FOLDERS?.split(delimiter) ?? MORE_FOLDERS;
  const folders = [...(env.PATH ?? '').split(delimiter), ...more].filter((folder) => folder !== '');
  for (const name of SERVERS) {
    const found = folders.map((folder) => join(folder, name)).find(isProgram);
    if (found !== undefined) return found;
  }
  return null;
}

/** The path of a server, which is installed when it is missing and can be. Throws `NoServer` when it cannot. */
export async function ensureServer(means = {}) {
  const { env = process.env, run = runQuietly, say = tell, uid = process.getuid?.() } = means;
  const found = findServer(env);
  if (found !== null) return found;
  if ((env.TIDEMARK_VALKEY_SERVER ?? '') !== '') {
    throw new NoServer(`TIDEMARK_VALKEY_SERVER names ${env.TIDEMARK_VALKEY_SERVER}, which is no program`);
  }
  const onWait = (pid) => say(`tidemark: waiting for process ${pid}, which installs ${PACKAGE}\n`);
  return withLock(join(tmpdir(), 'tidemark-valkey-install'), () => install({ env, run, say, uid }), { onWait });
}

async function install({ env, run, say, uid }) {
  const meanwhile = findServer(env);
  if (meanwhile !== null) return meanwhile;
  const shell = await shellFor(uid, run);
  say(`tidemark: installing ${PACKAGE} … `);
  const { code, output } = await run(shell[0], [...shell.slice(1), INSTALL], {});
  const installed = findServer(env);
  say(installed === null ? 'failed\n' : 'done\n');
  if (installed === null) throw new NoServer(`apt-get failed with exit code ${code}`, output);
  return installed;
}

/** How to run a piece of shell with the rights to install something. */
async function shellFor(uid, run) {
  if (!(await succeeds(run, 'apt-get', ['--version']))) throw new NoServer('there is no apt-get to install one with');
  if (uid === 0) return ['sh', '-c'];
  if (await succeeds(run, 'sudo', ['-n', 'true'])) return ['sudo', '-n', 'sh', '-c'];
  throw new NoServer('this user may neither install packages nor use sudo without a password');
}

async function succeeds(run, command, args) {
  try {
    return (await run(command, args, {})).code === 0;
  } catch {
    return false;
  }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function tell(text) {
  process.stderr.write(text);
}

/** The form for commands: a failure is told and ends the process. */
export async function ensureServerOrExit() {
  try {
    return await ensureServer();
  } catch (error) {
    if (!(error instanceof NoServer)) throw error;
    process.stderr.write(`${[error.tail, `tidemark: ${error.message}`].filter((line) => line !== '').join('\n')}\n`);
    process.exit(1);
  }
}

if (isEntry(import.meta.url)) process.stdout.write(`${await ensureServerOrExit()}\n`);
