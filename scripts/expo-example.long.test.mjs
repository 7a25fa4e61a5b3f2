import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packAll } from './pack.mjs';
import { ROOT } from './processes.mjs';

const OUTPUT_BYTES_MAX = 100_000_000;
const INSTALL = /^\$ (?<command>npm install .+)$/m;

let folder;
let app;

// As a user gets it: a copy outside of the checkout, with the packages of tarballs.
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-expo-'));
  app = join(folder, 'app');
  cpSync(join(ROOT, 'examples/expo'), app, { recursive: true });
  await packAll(join(folder, 'tarballs'));
  const { command } = INSTALL.exec(readFileSync(join(app, 'README.md'), 'utf8')).groups;
  // Nothing of it runs natively here, so nothing is built when it is installed.
  const flags = '--prefer-offline --ignore-scripts --no-audit --no-fund';
  await run('bash', ['-c', `${command.replace('CHECKOUT', folder)} ${flags}`]);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the output of a program in the app's folder; one that fails is an error with its output. */
async function run(program, args) {
  const env = { ...process.env, CI: '1', EXPO_NO_TELEMETRY: '1', EXPO_OFFLINE: '1', NODE_ENV: '', VITEST: '' };
  const options = { cwd: app, env, maxBuffer: OUTPUT_BYTES_MAX };
  try {
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    throw new Error(`${program} ${args.join(' ')} failed:\n${error.stdout}${error.stderr}`);
  }
}

const checkTypes = () => run(process.execPath, ['node_modules/typescript/bin/tsc', '--noEmit']);

describe('the example app for phones', () => {
  it('[PHONE-60] it installs the packages that it uses, by the command of its page', () => {
    const installed = readdirSync(join(app, 'node_modules/@tidemark')).sort();
    expect(installed).toEqual(['client', 'protocol', 'react', 'react-native', 'sqlite']);
  });

  it.each(['android', 'ios'])('[PHONE-60] Expo bundles it for %s, as bytecode of Hermes', async (platform) => {
    const output = join(folder, platform);
    await run(process.execPath, [
      'node_modules/expo/bin/cli',
      'export',
      '--platform',
      platform,
      '--output-dir',
      output,
    ]);
    const [bundle, ...others] = readdirSync(output, { recursive: true }).filter((path) => path.endsWith('.hbc'));
    expect(others).toEqual([]);
    // What every file of bytecode begins with, so that Hermes knows it.
    expect(readFileSync(join(output, bundle)).subarray(0, 8).toString('hex')).toBe('c61fbc03c103191f');
  });

  it('[PHONE-60] its types agree with those of Expo and of the packages', async () => {
    await checkTypes();
    appendFileSync(join(app, 'src/types.ts'), "\nexport const mistake: Part['price_cents'] = 'nothing';\n");
    await expect(checkTypes()).rejects.toThrow("Type 'string' is not assignable to type 'number'");
  });
});
