import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');

function block(language) {
  const [, text] = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(readme) ?? [];
  if (text === undefined) throw new Error(`the README has no ${language} block`);
  return text;
}

describe('README', () => {
  it('[DOCS-1] the sample runs as it stands and prints what the README says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-readme-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', block('js')], {
      cwd: root,
      env: { ...process.env, DATA: folder, NO_COLOR: '1', FORCE_COLOR: '0' },
      encoding: 'utf8',
    });
    expect(printed).toBe(block('text'));
  });
});
