import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { dependenciesAreStale, isSupported, withSigns } from './setup.mjs';
import { LONG_TESTS } from './test-files.mjs';

// Each test has a small checkout: the scripts under test, one package, and in place of npm, tsc, vitest and biome programs
// that log how they were called and end with the exit code that the test asks for.
const LOGGING = `import { appendFileSync } from 'node:fs';
const name = process.argv[1].split('/').at(-1);
appendFileSync('calls.log', [name, ...process.argv.slice(2)].join(' ') + '\\n');
process.exitCode = Number(process.env[name + '_EXIT'] ?? 0);
`;
const NPM = `${LOGGING}
import { cpSync, mkdirSync } from 'node:fs';
mkdirSync('node_modules', { recursive: true });
cpSync('package-lock.json', 'node_modules/.package-lock.json');
`;
const SOURCES = {
  'npm-cli.js': NPM,
  'package.json': '{ "type": "module" }',
  'package-lock.json': JSON.stringify({
    packages: {
      '': { name: 'small' },
      'node_modules/a': { version: '1.0.0', integrity: 'sha512-a' },
      'node_modules/@small/b': { link: true },
      'node_modules/for-mars': { version: '1.0.0', optional: true },
    },
  }),
  'tsconfig.json': '{ "files": [], "references": [{ "path": "packages/server" }] }',
  'packages/server/src/main.ts': '',
  'packages/server/dist/main.js': LOGGING,
  'node_modules/typescript/bin/tsc': LOGGING,
  'node_modules/vitest/vitest.mjs': LOGGING,
  'node_modules/@biomejs/biome/bin/biome': LOGGING,
  'node_modules/knip/bin/knip.js': LOGGING,
  tmp: null,
};
const MAIN = 'packages/server/dist/main.js';

const children = [];
let root;

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'tidemark-setup-'));
  const pages = ['build-console', 'build-docs', 'bundle-cli', 'built-files', 'declarations', 'files', 'source-aliases'];
  for (const script of [...pages, 'processes', 'programs', 'run', 'setup', 'test', 'test-files']) {
    write(`scripts/${script}.mjs`, fs.readFileSync(join(ROOT, `scripts/${script}.mjs`)));
  }
  fs.cpSync(join(ROOT, 'scripts/site'), join(root, 'scripts/site'), { recursive: true });
  for (const [path, text] of Object.entries(SOURCES)) {
    if (text === null) fs.mkdirSync(join(root, path));
    else write(path, text);
  }
  fs.cpSync(join(root, 'package-lock.json'), join(root, 'node_modules/.package-lock.json'));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});

function write(path, text) {
  fs.mkdirSync(join(root, path, '..'), { recursive: true });
  fs.writeFileSync(join(root, path), text);
}

function isThere(path) {
  return fs.existsSync(join(root, path));
}

/** Takes the calls that were logged since the last time. */
function calls() {
  const lines = isThere('calls.log') ? fs.readFileSync(join(root, 'calls.log'), 'utf8').trimEnd().split('\n') : [];
  fs.rmSync(join(root, 'calls.log'), { force: true });
  return lines;
}

function start([program, ...args], env = {}) {
  const folders = { TMPDIR: join(root, 'tmp'), TMP: join(root, 'tmp'), npm_execpath: join(root, 'npm-cli.js') };
  // The programs that npm does not bring are there: this is not the test that installs them.
  const programs = { TIDEMARK_VALKEY_SERVER: process.execPath, TIDEMARK_CHROMIUM: process.execPath };
  const child = spawn(program, args, { cwd: root, env: { ...process.env, ...folders, ...programs, ...env } });
  children.push(child);
  const said = { out: '', err: '' };
  for (const [stream, key] of [
    [child.stdout, 'out'],
    [child.stderr, 'err'],
  ]) {
    stream.on('data', (chunk) => {
      said[key] += chunk;
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    // Only a slow machine says this.
    return { code, ...said, err: said.err.replace('tidemark: building the sources\n', '') };
  });
  return { child, ended };
}

function run(script, args = [], env = {}) {
  return start([process.execPath, `scripts/${script}.mjs`, ...args], env).ended;
}

describe('npm run setup', () => {
  it('only asks the compiler when the dependencies are installed, and says nothing', async () => {
    expect(await run('setup')).toEqual({ code: 0, out: '', err: '' });
    expect([calls(), fs.readdirSync(join(root, 'tmp'))]).toEqual([['tsc -b'], []]);
  });

  it('installs the dependencies before it builds when there are none, even for production', async () => {
    fs.rmSync(join(root, 'node_modules/.package-lock.json'));
    expect(await run('setup', [], { NODE_ENV: 'production' })).toEqual({
      code: 0,
      out: '',
      err: 'tidemark: installing dependencies\n',
    });
    expect(calls()).toEqual(['npm-cli.js install --no-save --include=dev --prefer-offline', 'tsc -b']);
    expect((await run('setup')).err).toBe('');
  });

  it('runs once at a time: of several at once one installs and the others find everything installed', async () => {
    fs.rmSync(join(root, 'node_modules/.package-lock.json'));
    const results = await Promise.all([run('setup'), run('setup'), run('setup')]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(calls().filter((call) => call.startsWith('npm'))).toHaveLength(1);
  });

  it('ends with a message when npm or the compiler fails', async () => {
    const uncompiled = await run('setup', [], { tsc_EXIT: '2' });
    expect(uncompiled).toMatchObject({ code: 1, err: expect.stringContaining('the sources do not compile') });
    fs.rmSync(join(root, 'node_modules/.package-lock.json'));
    const uninstalled = await run('setup', [], { 'npm-cli.js_EXIT': '3' });
    expect(uninstalled).toMatchObject({ code: 1, err: expect.stringContaining('npm install failed with exit code 3') });
    expect(fs.readdirSync(join(root, 'tmp'))).toEqual([]);
  });

  it('removes what was built from a source that is gone', async () => {
    for (const file of ['gone.js', 'gone.d.ts', 'gone.js.map', 'notes.txt']) write(`packages/server/dist/${file}`, '');
    await run('setup');
    expect(fs.readdirSync(join(root, 'packages/server/dist'))).toEqual(['main.js', 'notes.txt']);
  });

  it('has a project built whole whose outputs are gone', async () => {
    write('packages/server/tsconfig.tsbuildinfo', '');
    await run('setup');
    expect(isThere('packages/server/tsconfig.tsbuildinfo')).toBe(true);
    fs.rmSync(join(root, 'packages/server/dist'), { recursive: true });
    await run('setup');
    expect(isThere('packages/server/tsconfig.tsbuildinfo')).toBe(false);
  });

  it('knows which versions of Node.js are too old', () => {
    expect(['18.20.4', '20.0.0', '22.1.0', '24.0.0'].map(isSupported)).toEqual([false, true, true, true]);
  });
});

describe('dependencies', () => {
  it('of this checkout are not stale after the setup that every test run does first', () => {
    expect(dependenciesAreStale(ROOT)).toBe(false);
  });

  it.each([
    ['are stale when another version is installed', '1.0.0', '0.9.0', true],
    ['are stale when a package with other content is installed', 'sha512-a', 'sha512-b', true],
    ['are stale when a package is not installed', 'node_modules/a', 'node_modules/c', true],
    ['are stale when a workspace is not linked', 'node_modules/@small/b', 'node_modules/@small/c', true],
    ['are stale when they were installed on another platform', '"link":true', '"link":true,"os":["amiga"]', true],
    ['are not stale when an optional package is missing', 'node_modules/for-mars', 'node_modules/for-venus', false],
    ['are not stale when a package excludes another platform', '"link":true', '"link":true,"os":["!amiga"]', false],
  ])('%s', (_, text, replacement, isStale) => {
    write('node_modules/.package-lock.json', SOURCES['package-lock.json'].replace(text, replacement));
    expect(dependenciesAreStale(root)).toBe(isStale);
  });
});

describe('scripts/run.mjs', () => {
  it('sets up, passes arguments on and ends with the exit code of the program', async () => {
    expect((await run('run', [MAIN, '--one', 'two'], { 'main.js_EXIT': '42' })).code).toBe(42);
    expect(calls()).toEqual(['tsc -b', 'main.js --one two']);
  });

  it('says which file is missing, and how the script is used', async () => {
    expect(await run('run', ['none.js'])).toEqual({
      code: 64,
      out: '',
      err: 'tidemark: there is no none.js\nusage: node scripts/run.mjs <built file> [arguments]\n',
    });
  });

  const UNTIL_SIGNAL = `const busy = setInterval(() => {}, 1000);
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => { console.log('got ' + signal); clearInterval(busy); });
}
console.log('ready');
`;

  it.each(['SIGTERM', 'SIGINT'])('lets %s reach the program', async (signal) => {
    write(MAIN, UNTIL_SIGNAL);
    const { child, ended } = start([process.execPath, 'scripts/run.mjs', MAIN]);
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 0, out: `ready\ngot ${signal}\n` });
  });

  // Windows has no such signals: there a child outlives its shell whatever the script does.
  it('ends the program when the shell of npm is ended', async () => {
    write(MAIN, UNTIL_SIGNAL);
    const shell = ['sh', '-c', `"$0" scripts/run.mjs ${MAIN}; exit 0`, process.execPath];
    const { child, ended } = start(shell, { npm_lifecycle_event: 'start' });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    // The pipe closes when the last process that has it has ended: the program itself.
    expect((await ended).out).toBe('ready\ngot SIGTERM\n');
  });
});

describe('npm test', () => {
  const CHECKS = ['biome check .', 'knip.js', 'tsc -p tsconfig.tests.json'];
  /** The calls of a whole run. Its checks run beside each other, so they begin in any order. */
  const ordered = ([setup, ...others]) => [
    setup,
    ...others.slice(0, CHECKS.length).sort(),
    ...others.slice(CHECKS.length),
  ];

  it('sets up and checks everything, then tests', async () => {
    expect((await run('test', ['--bail=1'])).code).toBe(0);
    expect(ordered(calls())).toEqual(['tsc -b', ...CHECKS, 'vitest.mjs run --bail=1']);
  });

  it('only tests when a file is named, and fails with the tests', async () => {
    expect((await run('test', ['a.test.ts'], { 'vitest.mjs_EXIT': '9' })).code).toBe(9);
    expect(calls()).toEqual(['tsc -b', 'vitest.mjs run a.test.ts']);
  });

  it('tests only the long tests in the long run', async () => {
    expect((await run('test', ['--long', '--bail=1'])).code).toBe(0);
    expect(calls()).toEqual(['tsc -b', `vitest.mjs run ${LONG_TESTS.join(' ')} --bail=1`]);
  });

  it('fails when a check fails, and still runs the tests', async () => {
    const { code, err } = await run('test', [], { biome_EXIT: '5' });
    expect([code, err]).toEqual([1, 'tidemark: biome found faults (above), so this run fails\n']);
    expect(ordered(calls())).toEqual(['tsc -b', ...CHECKS, 'vitest.mjs run']);
  });

  it('stops a whole run, but not one of named files, when a program is missing', async () => {
    const missing = { TIDEMARK_CHROMIUM: '/nowhere' };
    expect(await run('test', [], missing)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/name it in TIDEMARK_CHROMIUM/),
    });
    expect((await run('test', ['a.test.ts'], missing)).code).toBe(0);
  });
});

it('[DOCS-30] what takes long is said again and again, also while it blocks the thread', async () => {
  const file = join(root, 'said');
  const fd = fs.openSync(file, 'w');
  const said = () => fs.readFileSync(file, 'utf8').replaceAll(/\d+/g, 'n');
  const blocking = () => {
    while (!/building\n[\s\S]*still[\s\S]*still/.test(said()))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    return 'done';
  };
  expect(await withSigns('building', blocking, { noticeMs: 1, everyMs: 20, fd })).toBe('done');
  fs.closeSync(fd);
  expect(said()).toContain('tidemark: building\n');
  expect(said()).toContain('tidemark: still building (n s)\n');
});
