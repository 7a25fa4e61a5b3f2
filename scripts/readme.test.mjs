import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

function block(language, index = 0) {
  const [, text] = [...readme.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))][index] ?? [];
  if (text === undefined) throw new Error(`the README has no ${language} block number ${index}`);
  return text;
}

/** Times and request ids differ from run to run, and nothing else may. */
function timeless(text) {
  return text
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'a moment')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'a request');
}

async function startServer(folder) {
  const env = { ...process.env, TIDEMARK_ADMIN_PASSWORD: 'correct-horse', TIDEMARK_PORT: '0', TIDEMARK_DATA: folder };
  const server = spawn(process.execPath, [join(root, 'packages/cli/dist/main.js'), 'serve'], { env, cwd: root });
  onTestFinished(async () => {
    server.kill('SIGTERM');
    if (server.exitCode === null) await once(server, 'exit');
  });
  let said = '';
  while (!/\n.*\n/.test(said)) said += (await once(server.stdout, 'data'))[0];
  return said;
}

describe('README', () => {
  it('[DOCS-1] the sample runs as it stands and prints what the README says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block('js')], {
      cwd: root,
      env: { ...process.env, TMPDIR: folder, NO_COLOR: '1', FORCE_COLOR: '0' },
      encoding: 'utf8',
    });
    expect(printed).toBe(block('text'));
  });

  it('[DOCS-2] the commands run as they stand and print what the README says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const said = await startServer(join(folder, 'data'));
    const [url] = /http:\S+/.exec(said) ?? [];
    const [, ...promised] = block('console').trim().split('\n');
    expect(said.trim().replaceAll(url, 'http://127.0.0.1:9292').split('\n')).toEqual(promised);

    const lines = block('console', 1).trim().split('\n');
    const commands = lines.filter((line) => line.startsWith('$ ')).map((line) => `${line.slice(2)}; echo`);
    const script = commands.join('\n').replaceAll('http://127.0.0.1:9292', url);
    const printed = execFileSync('bash', ['-c', script], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line !== '');
    expect(printed.map(timeless)).toEqual(lines.filter((line) => !line.startsWith('$ ')).map(timeless));
  });
});
