import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from './processes.mjs';
import { blocksOf, runSession, sessionOf, startProgram, timeless } from './samples.mjs';

const blocks = blocksOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));

function block(language, index = 0) {
  const found = blocks.filter((one) => one.language === language)[index];
  if (found === undefined) throw new Error(`the README has no ${language} block number ${index}`);
  return found.text;
}

function temporaryFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe('README', () => {
  it('[DOCS-1] the sample runs as it stands and prints what the README says', () => {
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block('js')], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: temporaryFolder(), NO_COLOR: '1', FORCE_COLOR: '0' },
      encoding: 'utf8',
    });
    expect(printed).toBe(block('text'));
  });

  it('[DOCS-2] the commands run as they stand and print what the README says', async () => {
    const first = sessionOf(block('console'));
    const env = { TIDEMARK_PORT: '0', TIDEMARK_DATA: join(temporaryFolder(), 'data') };
    const server = await startProgram(first.commands.at(-1), { lines: first.printed.length, env });
    onTestFinished(server.stop);
    const [url] = /http:\S+/.exec(server.printed[0]) ?? [];
    expect(server.printed.map((line) => line.replaceAll(url, 'http://127.0.0.1:9292'))).toEqual(first.printed);

    const second = sessionOf(block('console', 1));
    const commands = second.commands.map((command) => command.replaceAll('http://127.0.0.1:9292', url));
    expect((await runSession(commands)).map(timeless)).toEqual(second.printed.map(timeless));
  });
});
