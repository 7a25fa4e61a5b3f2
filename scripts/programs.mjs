import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isEntry, run, withLock } from './processes.mjs';

/**
 * The programs that tests need and npm does not bring. Any of the names will do, the first that is found is used;
 * `variable` can name one instead; `debian` is the package that has it.
 */
export const PROGRAMS = [
  { names: ['valkey-server', 'redis-server'], debian: 'redis-server', variable: 'TIDEMARK_VALKEY_SERVER' },
  {
    names: ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'],
    debian: 'chromium',
    variable: 'TIDEMARK_CHROMIUM',
  },
  // The reverse proxies of deploy/nginx and deploy/caddy.
  { names: ['nginx'], debian: 'nginx-light', variable: 'TIDEMARK_NGINX' },
  { names: ['caddy'], debian: 'caddy', variable: 'TIDEMARK_CADDY' },
  // The shells that `tidemark completion` writes for, besides bash.
  { names: ['zsh'], debian: 'zsh', variable: 'TIDEMARK_ZSH' },
  { names: ['fish'], debian: 'fish', variable: 'TIDEMARK_FISH' },
  // `initdb` is beside it.
  { names: ['postgres'], debian: 'postgresql', variable: 'TIDEMARK_POSTGRES' },
  { names: ['pgbouncer'], debian: 'pgbouncer', variable: 'TIDEMARK_PGBOUNCER' },
];

/**
 * The build of Chromium without parts for windows. Pages take half the CPU time in it, so tests open theirs in it where it
 * can be installed, and in Chromium elsewhere.
 */
export const HEADLESS_SHELL = {
  names: ['chromium-headless-shell'],
  debian: 'chromium-headless-shell',
  variable: 'TIDEMARK_CHROMIUM',
};

/** The program that `node scripts/tabs.mjs --firefox` needs as well. */
export const FIREFOX = { names: ['firefox-esr', 'firefox'], debian: 'firefox-esr', variable: 'TIDEMARK_FIREFOX' };

/** The program that `npm run test:long` needs as well: the shell of JavaScriptCore, in which apps run on iOS without Hermes. */
export const JSC = { names: ['jsc'], debian: 'libjavascriptcoregtk-4.0-bin', variable: 'TIDEMARK_JSC' };

/** Where programs are on machines whose PATH is short. */
const MORE_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];

/**
 * Installs packages without starting their services: the tests start servers of their own. A `policy-rc.d` that is there
 * already stays as it is. The list of packages is fetched only when a package is not found without.
 */
const INSTALL = `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "$@"; }
install "$@" || { apt-get update -q && install "$@"; }`;

const LOCK = join(tmpdir(), 'tidemark-install-programs');

/** Where Debian keeps its versions of Postgres. */
const POSTGRES = '/usr/lib/postgresql';

const MACHINE = {
  env: process.env,
  get folders() {
    const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES) : [];
    return [...MORE_FOLDERS, ...versions.map((version) => join(POSTGRES, version, 'bin'))];
  },
  isRoot: process.getuid?.() === 0,
  succeeds: (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0,
  run: (command, args) => run(command, args, { stdio: ['ignore', 2, 2] }),
};

export function findProgram({ names, variable }, { env, folders } = MACHINE) {
  const named = env[variable] ?? '';
  if (named !== '') return isProgram(named) ? named : undefined;
  const all = [...(env.PATH ?? '').split(delimiter).filter((folder) => folder !== ''), ...folders];
  return names.flatMap((name) => all.map((folder) => join(folder, name))).find(isProgram);
}

/**
 * Installs the programs that are missing. Returns what is still missing, why, and what to do, or null. Tests also run
 * without the `welcome` ones, which are installed last, and only if apt knows them: trying would fetch its lists every time.
 */
export async function installPrograms(machine = MACHINE, programs = PROGRAMS, welcome = [HEADLESS_SHELL]) {
  const isMissing = (program) => findProgram(program, machine) === undefined;
  const missing = () => programs.filter(isMissing);
  const reason = missing().length === 0 ? null : await withLock(LOCK, () => install(missing(), machine));
  const more = welcome.filter((program) => isMissing(program) && machine.succeeds('apt-cache', 'show', program.debian));
  if (more.length > 0) await withLock(LOCK, () => install(more, machine));
  if (missing().length === 0) return null;
  const lines = missing().map(({ names, debian, variable }) => {
    return `install ${names.join(' or ')} (on Debian and Ubuntu: apt-get install ${debian}), or name it in ${variable}`;
  });
  return [`the tests need programs, and ${reason}:`, ...lines].join('\n  ');
}

async function install(programs, { env, isRoot, succeeds, run }) {
  const packages = programs.filter(({ variable }) => !env[variable]).map(({ debian }) => debian);
  if (packages.length === 0) return 'a variable names a file that is no program';
  if (!succeeds('apt-get', '--version')) return 'there is no apt-get to install them with';
  if (!isRoot && !succeeds('sudo', '-n', 'true')) {
    return 'this user may neither install packages nor use sudo without a password';
  }
  process.stderr.write(`tidemark: installing ${packages.join(', ')}\n`);
  const [command, ...args] = [...(isRoot ? [] : ['sudo', '-n']), 'sh', '-c', INSTALL, 'install', ...packages];
  return `apt-get failed with exit code ${await run(command, args)}`;
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

if (isEntry(import.meta.url)) {
  const problem = await installPrograms();
  if (problem !== null) process.stderr.write(`tidemark: ${problem}\n`);
  process.exitCode = problem === null ? 0 : 1;
}
