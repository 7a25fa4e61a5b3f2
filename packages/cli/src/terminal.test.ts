import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Cli } from './cli.ts';
import { CliFailure } from './cli-failure.ts';
import { Credentials } from './credentials.ts';
import { confirm, readPassword } from './input.ts';
import { Terminal } from './terminal.ts';

/** A terminal with somebody at it, who types when something is asked. */
function fakeTerminal(answers: readonly string[], env: Record<string, string> = {}) {
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const waiting = [...answers];
  let said = '';
  stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (/: $/.test(chunk.toString()) && waiting.length > 0) stdin.write(waiting.shift());
  });
  const terminal = new Terminal({ stdin, stdout, stderr }, env);
  return { cli: new Cli(terminal, env, '/'), terminal, raw, said: () => said };
}

async function failureOf(work: Promise<unknown>): Promise<{ readonly message: string; readonly exitCode: number }> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CliFailure)) throw new Error(`expected a failure, got ${String(error)}`);
  return { message: error.message, exitCode: error.exitCode };
}

describe('a secret that is asked for', () => {
  it('[CLI-8] a typed password is not shown, and backspace works', async () => {
    const { terminal, raw, said } = fakeTerminal(['opem\u007fn sésame\r']);
    expect(await terminal.askSecret('Password: ')).toBe('open sésame');
    expect(said()).toBe('Password: \n');
    expect(raw).toEqual([true, false]);
  });

  it('[CLI-8] a typed password may arrive in pieces', async () => {
    const { cli } = fakeTerminal(['o', 'k\n']);
    const { terminal } = cli;
    const asked = terminal.askSecret('Password: ');
    terminal.err('more: ');
    expect(await asked).toBe('ok');
  });

  it('[CLI-8] Ctrl-C ends a password prompt and restores the terminal', async () => {
    const { terminal, raw } = fakeTerminal(['ope\u0003']);
    expect(await failureOf(terminal.askSecret('Password: '))).toEqual({ message: 'nothing was done', exitCode: 130 });
    expect(raw).toEqual([true, false]);
  });

  it('[CLI-8] a new password must be typed twice', async () => {
    const request = { question: 'Password: ', isFromInput: false, isNew: true };
    expect(await readPassword(fakeTerminal(['sesame\r', 'sesame\r']).cli, request)).toBe('sesame');
    const differs = await failureOf(readPassword(fakeTerminal(['sesame\r', 'sesamy\r']).cli, request));
    expect(differs).toEqual({ message: 'the two passwords differ; nothing was done', exitCode: 2 });
    expect(await failureOf(readPassword(fakeTerminal(['\r']).cli, request))).toMatchObject({ exitCode: 2 });
  });

  it('[CLI-8] without a terminal the password comes from the environment, a new one from its own variable', async () => {
    const request = { question: 'Password: ', isFromInput: false };
    const { cli } = fakeTerminal([], { TIDEMARK_PASSWORD: 'known', TIDEMARK_NEW_PASSWORD: 'new' });
    expect(await readPassword(cli, { ...request, isNew: false })).toBe('known');
    expect(await readPassword(cli, { ...request, isNew: true })).toBe('new');
  });
});

describe('a typed confirmation', () => {
  const action = { warning: 'Everything goes.', name: '127.0.0.1:9292', isConfirmed: false };

  it('[CLI-6] a confirmation requires the exact name', async () => {
    const right = fakeTerminal(['127.0.0.1:9292\n']);
    await confirm(right.cli, action);
    expect(right.said()).toMatch(/^Everything goes\.\n.*Type 127\.0\.0\.1:9292 to go on: /);
    for (const answer of ['yes\n', '\n', '127.0.0.1\n']) {
      const wrong = await failureOf(confirm(fakeTerminal([answer]).cli, action));
      expect(wrong).toEqual({ message: 'the answer does not match; nothing was done', exitCode: 2 });
    }
    const silent = fakeTerminal([]);
    await confirm(silent.cli, { ...action, isConfirmed: true });
    expect(silent.said()).toBe('');
  });
});

describe('colours', () => {
  it('[CLI-2] colours are used on terminals, unless NO_COLOR or a dumb terminal forbids it', () => {
    expect(fakeTerminal([]).terminal.hasColour).toBe(true);
    expect(fakeTerminal([], { NO_COLOR: '1' }).terminal.hasColour).toBe(false);
    expect(fakeTerminal([], { TERM: 'dumb' }).terminal.hasColour).toBe(false);
    const pipe = new PassThrough();
    expect(new Terminal({ stdin: pipe, stdout: pipe, stderr: pipe }, {}).hasColour).toBe(false);
  });
});

describe('kept tokens', () => {
  const credential = { login: 'boss', token: 'tmk_x', expires_at: null };

  async function newCredentials(): Promise<Credentials> {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    return new Credentials({ XDG_CONFIG_HOME: folder.path });
  }

  it('[CLI-7] each stored token belongs to one server', async () => {
    const credentials = await newCredentials();
    credentials.keep('http://a', credential);
    credentials.keep('http://b', { ...credential, login: 'eve' });
    credentials.forget('http://a');
    credentials.forget('http://c');
    expect([credentials.find('http://a'), credentials.find('http://b')?.login]).toEqual([null, 'eve']);
    expect(credentials.find('constructor')).toBeNull();
  });

  it('[CLI-7] stored tokens are not used when the file is world-readable or damaged', async () => {
    const credentials = await newCredentials();
    credentials.keep('http://a', credential);
    chmodSync(credentials.file, 0o644);
    expect(() => credentials.find('http://a')).toThrow(/can be read by everybody/);
    chmodSync(credentials.file, 0o600);
    writeFileSync(credentials.file, '{');
    expect(() => credentials.find('http://a')).toThrow(/is damaged/);
  });

  it('[CLI-7] tokens are stored in the home folder by default', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    mkdirSync(join(folder.path, 'home'));
    const credentials = new Credentials({ HOME: join(folder.path, 'home') });
    credentials.keep('http://a', credential);
    if (process.platform !== 'win32') {
      expect(credentials.file).toBe(join(folder.path, 'home/.config/tidemark/credentials.json'));
    }
  });
});
