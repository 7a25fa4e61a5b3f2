import { accessSync, constants, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { runQuietly } from './processes.mjs';
import { withProgress } from './progress.mjs';
import { withLock } from './with-lock.mjs';

/** Where programs lie on machines whose PATH is short. */
const MORE_FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin', '/opt/homebrew/bin'];
const TAIL_LINES = 20;

/**
 * Installs a package without ever starting a service of it: the tests start servers of their own. A `policy-rc.d` that is
 * there already stays as it is. The list of packages is fetched only when the package is not found without.
 */
const installing = (debian) => `
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\\nexit 101\\n' > "$policy" && chmod 755 "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends ${debian}; }
install || { apt-get update -q && install; }`;

/** Why a program is not there, and what to do about it. */
export class ProgramMissing extends Error {
  constructor({ purpose, names, debian, variable }, reason, output = '') {
    super(
      `${purpose} ${names.join(' or ')}, and ${reason}; install one of them (on Debian and Ubuntu: apt-get install ` +
        `${debian}), or name it in ${variable}`,
    );
    this.name = 'ProgramMissing';
    this.tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
  }
}

/**
 * A program that tests need and npm does not bring.
 *
 * `names`: any will do, the first that is found is taken. `debian`: the package that has it. `variable`: where it can be
 * named instead. `foldersVariable`: which folders to look into besides PATH. `purpose`: who needs it, up to its name.
 */
export class Program {
  #about;

  constructor(about) {
    this.#about = about;
  }

  /** Its path on this machine; null when it is not there. */
  find(env = process.env) {
    const { names, variable, foldersVariable } = this.#about;
    const named = env[variable] ?? '';
    if (named !== '') return isProgram(named) ? named : null;
    const more = env[foldersVariable]?.split(delimiter) ?? MORE_FOLDERS;
    const folders = [...(env.PATH ?? '').split(delimiter), ...more].filter((folder) => folder !== '');
    for (const name of names) {
      const found = folders.map((folder) => join(folder, name)).find(isProgram);
      if (found !== undefined) return found;
    }
    return null;
  }

  /** Its path; it is installed when it is missing and can be. Throws `ProgramMissing` when it cannot. */
  async ensure(means = {}) {
    const { env = process.env, run = runQuietly, say = tell, uid = process.getuid?.() } = means;
    const { debian, variable } = this.#about;
    const found = this.find(env);
    if (found !== null) return found;
    if ((env[variable] ?? '') !== '') throw this.#missing(`${variable} names ${env[variable]}, which is no program`);
    const onWait = (pid) => say(`tidemark: waiting for process ${pid}, which installs ${debian}\n`);
    return withLock(join(tmpdir(), `tidemark-install-${debian}`), () => this.#install({ env, run, say, uid }), {
      onWait,
    });
  }

  /** The form for commands: a failure is told and ends the process. */
  async ensureOrExit() {
    try {
      return await this.ensure();
    } catch (error) {
      if (!(error instanceof ProgramMissing)) throw error;
      process.stderr.write(`${[error.tail, `tidemark: ${error.message}`].filter((line) => line !== '').join('\n')}\n`);
      process.exit(1);
    }
  }

  async #install({ env, run, say, uid }) {
    const { debian } = this.#about;
    const meanwhile = this.find(env);
    if (meanwhile !== null) return meanwhile;
    const shell = await this.#shellFor(uid, run);
    return withProgress(say, `installing ${debian}`, async () => {
      const { code, output } = await run(shell[0], [...shell.slice(1), installing(debian)], {});
      const installed = this.find(env);
      if (installed === null) throw this.#missing(`apt-get failed with exit code ${code}`, output);
      return installed;
    });
  }

  /** How to run a piece of shell with the rights to install something. */
  async #shellFor(uid, run) {
    if (!(await succeeds(run, 'apt-get', ['--version'])))
      throw this.#missing('there is no apt-get to install one with');
    if (uid === 0) return ['sh', '-c'];
    if (await succeeds(run, 'sudo', ['-n', 'true'])) return ['sudo', '-n', 'sh', '-c'];
    throw this.#missing('this user may neither install packages nor use sudo without a password');
  }

  #missing(reason, output) {
    return new ProgramMissing(this.#about, reason, output);
  }
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
