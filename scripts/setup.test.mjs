import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { checkNode, mendInstall } from './setup.mjs';

// Each test has a small checkout of its own: these scripts, one package, the real TypeScript, and in place of npm,
// vitest and biome programs that say what they were asked for.

const TELLING = "console.log([process.argv[1].split('/').at(-1), ...process.argv.slice(2)].join(' '));\n";
const TELLING_LONG = "if (process.env.TIDEMARK_LONG_TESTS) console.log('long:', process.env.TIDEMARK_LONG_TESTS);\n";
const NPM = `import { appendFileSync, mkdirSync, symlinkSync } from 'node:fs';
appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n');
if (process.argv[2] === 'ci' && process.env.NPM_SAYS) { console.error(process.env.NPM_SAYS); process.exit(3); }
mkdirSync('node_modules', { recursive: true });
for (const name of ['typescript', '@typescript']) {
  try { symlinkSync(process.env.REAL_MODULES + '/' + name, 'node_modules/' + name); } catch {}
}
`;

const children = [];
let root;
let ready;
let firstSetup;

beforeAll(async () => {
  ready = fs.mkdtempSync(join(tmpdir(), 'tidemark-setup-'));
  root = ready;
  makeCheckout();
  firstSetup = await run('setup.mjs');
});

afterAll(() => fs.rmSync(ready, { recursive: true, force: true }));

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'tidemark-setup-'));
  fs.cpSync(ready, root, { recursive: true, verbatimSymlinks: true });
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});

function makeCheckout() {
  fs.cpSync(join(ROOT, 'scripts'), join(root, 'scripts'), {
    recursive: true,
    filter: (path) => !path.endsWith('.test.mjs'),
  });
  fs.mkdirSync(join(root, 'tmp'));
  write('npm-cli.js', NPM);
  writeJson('package.json', { name: 'small', type: 'module', workspaces: ['packages/*'] });
  writeJson('packages/server/package.json', { name: 'server', type: 'module', dependencies: { a: '1.0.0' } });
  writeJson('tsconfig.base.json', { compilerOptions: { composite: true, module: 'NodeNext', types: [] } });
  writeJson('tsconfig.json', { files: [], references: [{ path: 'packages/server' }] });
  writeJson('packages/server/tsconfig.json', {
    extends: '../../tsconfig.base.json',
    compilerOptions: { rootDir: 'src', outDir: 'dist' },
    include: ['src'],
  });
  write('packages/server/src/main.ts', "console.log('first');\n");
  write('packages/server/src/side/extra.ts', 'export const extra = 1;\n');
  installByHand();
}

function write(path, text) {
  fs.mkdirSync(join(root, path, '..'), { recursive: true });
  fs.writeFileSync(join(root, path), text);
}

function writeJson(path, value) {
  write(path, JSON.stringify(value));
}

/** What a finished `npm install` leaves. */
function installByHand() {
  const a = { version: '1.0.0', integrity: 'sha512-a', optionalDependencies: { '@a/for-mars': '1.0.0' } };
  const other = { version: '1.0.0', integrity: 'sha512-b', optional: true };
  const server = { name: 'server', dependencies: { a: '1.0.0' } };
  const packages = { 'packages/server': server, 'node_modules/a': a };
  writeJson('package-lock.json', { packages: { '': { name: 'small' }, ...packages, 'node_modules/other': other } });
  writeJson('node_modules/.package-lock.json', { packages });
  for (const name of ['typescript', '@typescript']) {
    fs.symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name));
  }
  write(
    'node_modules/vitest/vitest.mjs',
    `${TELLING}${TELLING_LONG}process.exit(Number(process.env.VITEST_EXIT ?? 0));`,
  );
  write('node_modules/@biomejs/biome/bin/biome', `${TELLING}process.exit(Number(process.env.BIOME_EXIT ?? 0));`);
}

function start(script, args = [], env = {}) {
  return startProgram([process.execPath, join('scripts', script), ...args], env);
}

function startProgram([program, ...args], env) {
  const child = spawn(program, args, {
    cwd: root,
    env: {
      ...process.env,
      TMPDIR: join(root, 'tmp'),
      TMP: join(root, 'tmp'),
      npm_execpath: join(root, 'npm-cli.js'),
      REAL_MODULES: join(ROOT, 'node_modules'),
      ...env,
    },
  });
  children.push(child);
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, out: said.out, err: withoutSeconds(said.err) }));
  return { child, ended };
}

/** How often the seconds of a step are shown depends on the machine. */
function withoutSeconds(text) {
  return text.replace(/\d+ s … /g, '');
}

function run(script, args, env) {
  return start(script, args, env).ended;
}

const QUIET = { code: 0, out: '', err: '' };
const BUILT = { code: 0, out: '', err: expect.stringMatching(/^tidemark: building … done in [0-9.]+ s\n$/) };

function isThere(path) {
  return fs.existsSync(join(root, 'packages/server/dist', path));
}

describe('building', () => {
  it('builds once, then has nothing to say', async () => {
    expect(firstSetup).toEqual(BUILT);
    expect(isThere('main.js')).toBe(true);
    expect(await run('setup.mjs')).toEqual(QUIET);
    expect(fs.readdirSync(join(root, 'tmp'))).toEqual([]);
  });

  it('builds what changed, even when the file carries an old time', async () => {
    write('packages/server/src/main.ts', "console.log('again');\n");
    fs.utimesSync(join(root, 'packages/server/src/main.ts'), 1_000, 1_000);
    expect(await run('setup.mjs')).toEqual(BUILT);
    expect(fs.readFileSync(join(root, 'packages/server/dist/main.js'), 'utf8')).toContain('again');
  });

  it('what was built from a source that is gone goes, too', async () => {
    expect(isThere('side/extra.js') && isThere('side/extra.d.ts')).toBe(true);
    fs.rmSync(join(root, 'packages/server/src/side/extra.ts'));
    write('packages/server/dist/notice.txt', 'not from a source, not ours to remove');
    expect(await run('setup.mjs')).toEqual(BUILT);
    expect([isThere('side/extra.js'), isThere('side/extra.d.ts'), isThere('notice.txt')]).toEqual([false, false, true]);
  });

  it('what was built and lost is built again', async () => {
    fs.rmSync(join(root, 'packages/server/dist/main.js'));
    expect(await run('setup.mjs')).toEqual(BUILT);
    expect(isThere('main.js')).toBe(true);
  });

  it('a source that does not compile is told with its place, until it is mended', async () => {
    write('packages/server/src/main.ts', 'const count: number = "three";\n');
    for (let attempt = 0; attempt < 2; attempt++) {
      const { code, err } = await run('setup.mjs');
      expect(code).toBe(1);
      expect(err).toContain('building … failed\n');
      expect(err).toContain('packages/server/src/main.ts(1,7): error TS2322');
      expect(err).toMatch(/tidemark: the sources do not compile\ntidemark: mend the errors above; .*\n$/);
    }
    write('packages/server/src/main.ts', 'export const count: number = 3;\n');
    expect(await run('setup.mjs')).toEqual(BUILT);
  });

  it('of several at once one builds and the others wait', async () => {
    fs.rmSync(join(root, 'packages/server/dist'), { recursive: true });
    const results = await Promise.all([run('setup.mjs'), run('setup.mjs'), run('setup.mjs')]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(results.filter(({ err }) => err.includes('building'))).toHaveLength(1);
  });
});

describe('installing', () => {
  const INSTALLED = /^tidemark: installing dependencies … done in [0-9.]+ s\ntidemark: building … done in [0-9.]+ s\n$/;

  function npmCalls() {
    return fs.existsSync(join(root, 'npm.log')) ? fs.readFileSync(join(root, 'npm.log'), 'utf8') : '';
  }

  it('installs when nothing is installed, once', async () => {
    fs.rmSync(join(root, 'node_modules'), { recursive: true });
    expect(await run('setup.mjs', [], { NODE_ENV: 'production' })).toEqual({
      code: 0,
      out: '',
      err: expect.stringMatching(INSTALLED),
    });
    expect(await run('setup.mjs')).toEqual(QUIET);
    expect(npmCalls()).toBe('ci --include=dev\n');
  });

  it('does not install again what npm install has just installed', async () => {
    writeJson('package.json', { name: 'small', type: 'module', workspaces: ['packages/*'], description: 'changed' });
    expect(await run('setup.mjs')).toEqual(QUIET);
    expect(npmCalls()).toBe('');
  });

  it.each([
    ['the lock file asks for another version', 'package-lock.json', (text) => text.replace('1.0.0"', '1.0.1"')],
    ['the lock file asks for another content', 'package-lock.json', (text) => text.replace('sha512-a', 'sha512-c')],
    ['something is missing that is not optional', 'package-lock.json', (text) => text.replace(',"optional":true', '')],
    [
      'a package asks for what the lock file lacks',
      'packages/server/package.json',
      (text) => text.replace('1.0', '2.0'),
    ],
  ])('installs when %s', async (_, file, change) => {
    write(file, change(fs.readFileSync(join(root, file), 'utf8')));
    expect((await run('setup.mjs')).code).toBe(0);
    expect(npmCalls()).toBe('ci --include=dev\n');
  });

  it('what was installed on another platform is installed again', async () => {
    writeJson('node_modules/.tidemark-install.json', { platform: 'amiga-m68k' });
    await run('setup.mjs');
    expect(npmCalls()).toBe('ci --include=dev\n');
  });

  it('a failure is told with what npm said and how to mend it', async () => {
    fs.rmSync(join(root, 'node_modules'), { recursive: true });
    expect(
      await run('setup.mjs', [], {
        NPM_SAYS: 'npm error code EUSAGE\nnpm error Clean install a project\nnpm error more',
      }),
    ).toEqual({
      code: 1,
      out: '',
      err: [
        'tidemark: installing dependencies … failed',
        'npm error code EUSAGE',
        'tidemark: npm failed with exit code 3',
        'tidemark: package.json and package-lock.json disagree: run npm install and commit the lock file',
        '',
      ].join('\n'),
    });
  });

  it('a lock file that lacks packages of other platforms is no obstacle', async () => {
    fs.rmSync(join(root, 'node_modules'), { recursive: true });
    const NPM_SAYS = 'npm error code EUSAGE\nnpm error Missing: @a/for-mars@ from lock file\nnpm error more';
    expect(await run('setup.mjs', [], { NPM_SAYS })).toMatchObject({ code: 0, err: expect.stringMatching(INSTALLED) });
    expect(npmCalls()).toBe('ci --include=dev\ninstall --no-save --include=dev\n');
  });

  it('a lock file that lacks anything else is', async () => {
    fs.rmSync(join(root, 'node_modules'), { recursive: true });
    const lines = ['Missing: @a/for-mars@ from lock file', 'Missing: b@1.0.0 from lock file', 'code EUSAGE'];
    const NPM_SAYS = lines.map((line) => `npm error ${line}`).join('\n');
    expect((await run('setup.mjs', [], { NPM_SAYS })).code).toBe(1);
    expect(npmCalls()).toBe('ci --include=dev\n');
  });

  it.each([
    ['npm error code ENOTFOUND', 'the package registry was not reached'],
    ['npm error code E403', 'the package registry refused a package'],
    ['npm error code EACCES', 'a file could not be written'],
    ['npm error code ENOSPC', 'the disk is full'],
    ['npm error something else', 'run npm ci by hand'],
  ])('%s: %s', (output, mend) => {
    expect(mendInstall(output)).toContain(mend);
  });
});

it('an old Node is told what is needed', () => {
  expect(() => checkNode('18.20.4')).toThrow('Node.js 20 or newer is needed, this is 18.20.4');
  for (const version of ['20.0.0', '22.1.0', '24.0.0']) expect(() => checkNode(version)).not.toThrow();
});

describe('start and run', () => {
  it('start passes arguments on and ends with the exit code of the server', async () => {
    write('packages/server/src/main.ts', `// @ts-nocheck\n${TELLING}process.exit(42);\n`);
    expect(await run('start.mjs', ['--one', 'two'])).toMatchObject({ code: 42, out: 'main.js --one two\n' });
  });

  function writeLongRunning(signal) {
    const lines = [
      '// @ts-nocheck',
      'const busy = setInterval(() => {}, 1000);',
      `process.once('${signal}', () => { console.log('ending'); clearInterval(busy); });`,
      "console.log('ready');",
    ];
    write('packages/server/src/main.ts', `${lines.join('\n')}\n`);
  }

  it.each(['SIGTERM', 'SIGINT'])('%s reaches the server', async (signal) => {
    writeLongRunning(signal);
    const { child, ended } = start('start.mjs');
    await once(child.stdout, 'data');
    child.kill(signal);
    expect(await ended).toMatchObject({ code: 0, out: 'ready\nending\n' });
  });

  // Windows has no such signals: there a child outlives its shell whatever the script does.
  it.skipIf(process.platform === 'win32')(
    'the server ends when the shell that npm started it in is ended',
    async () => {
      writeLongRunning('SIGTERM');
      const shell = ['sh', '-c', '"$0" scripts/start.mjs; exit 0', process.execPath];
      const { child, ended } = startProgram(shell, { npm_lifecycle_event: 'start' });
      await once(child.stdout, 'data');
      child.kill('SIGTERM');
      // The pipe closes when the last process that has it has ended: the server itself.
      expect(await ended).toMatchObject({ out: 'ready\nending\n' });
    },
  );

  it('run runs a built file', async () => {
    write('packages/server/src/side/extra.ts', `// @ts-nocheck\n${TELLING}`);
    expect(await run('run.mjs', ['packages/server/dist/side/extra.js', '--seed', '7'])).toMatchObject({
      code: 0,
      out: 'extra.js --seed 7\n',
    });
  });

  it('run says which file is missing, and how it is used', async () => {
    expect(await run('run.mjs', ['packages/server/dist/none.js'])).toMatchObject({
      code: 66,
      err: expect.stringContaining('tidemark: there is no packages/server/dist/none.js'),
    });
    expect(await run('run.mjs')).toEqual({
      code: 64,
      out: '',
      err: 'usage: node scripts/run.mjs <built file> [arguments]\n',
    });
  });
});

describe('test', () => {
  beforeEach(() => writeJson('tsconfig.tests.json', { compilerOptions: { types: [] }, files: ['a.test.ts'] }));

  it('checks everything, then tests', async () => {
    write('a.test.ts', 'export {};\n');
    expect(await run('test.mjs', ['--bail=1'])).toMatchObject({
      code: 0,
      out: 'biome check .\nvitest.mjs run --bail=1\n',
    });
  });

  it('only tests when a file is named', async () => {
    expect(await run('test.mjs', ['a.test.ts'])).toMatchObject({ code: 0, out: 'vitest.mjs run a.test.ts\n' });
  });

  it('the long run tries the simulations only, and tells them to be long', async () => {
    const { code, out } = await run('test.mjs', ['--long', '--bail=1']);
    expect({ code, out }).toEqual({ code: 0, out: 'vitest.mjs run simulation/ --bail=1\nlong: 1\n' });
  });

  it('fails with the tests', async () => {
    expect((await run('test.mjs', ['a.test.ts'], { VITEST_EXIT: '9' })).code).toBe(9);
  });

  it('fails with the lint and the types, and still runs the tests last', async () => {
    write('a.test.ts', 'const count: number = "three";\nexport { count };\n');
    const typed = await run('test.mjs');
    expect(typed.code).not.toBe(0);
    expect(typed.out).toMatch(/error TS2322.*\nvitest\.mjs run\n$/s);
    write('a.test.ts', 'export {};\n');
    expect(await run('test.mjs', [], { BIOME_EXIT: '5' })).toMatchObject({
      code: 5,
      out: 'biome check .\nvitest.mjs run\n',
      err: 'tidemark: biome found faults (above), so this run fails\n',
    });
  });
});
