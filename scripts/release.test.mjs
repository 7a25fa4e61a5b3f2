import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readLock } from './licences.mjs';
import { readManifest } from './pack.mjs';
import { ROOT } from './processes.mjs';
import { billOfMaterials, newestChanges, setVersion, versionProblems, writeChecksums } from './release.mjs';

const { version } = readManifest(ROOT, '');

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-release-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies what holds versions: the manifests, the lock file and the changelog. */
function copyOfVersions() {
  const folder = newFolder();
  const folders = Object.keys(readLock(ROOT).packages).filter((path) => !path.includes('node_modules/'));
  for (const path of ['CHANGELOG.md', 'package-lock.json', ...folders.map((path) => join(path, 'package.json'))]) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(ROOT, path), join(folder, path));
  }
  return folder;
}

describe('a release', () => {
  it('[RELEASE-1] all packages have one version, need each other in it, and the changelog begins with it', () => {
    expect(versionProblems(ROOT, version)).toEqual([]);
  });

  it('[RELEASE-1] a new version is written everywhere, and its section of the changelog is dated', () => {
    const folder = copyOfVersions();
    const changelog = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8');
    const begun = changelog.replace(/^## /m, '## 9.8.7 (unreleased)\n\n- Something new.\n\n## ');
    writeFileSync(join(folder, 'CHANGELOG.md'), begun);
    expect(versionProblems(folder, '9.8.7').length).toBeGreaterThan(10);
    setVersion(folder, '9.8.7', '2030-01-31');
    expect(versionProblems(folder, '9.8.7')).toEqual([]);
    const changes = newestChanges(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8'));
    expect(changes).toEqual({ version: '9.8.7', date: '2030-01-31', text: '- Something new.' });
    const { packages } = readLock(folder);
    expect(packages['packages/server'].dependencies['@tidemark/core']).toBe('9.8.7');
  });

  it('[RELEASE-2] the bill of materials lists what is shipped with its licence, nothing else, and is the same each time', () => {
    // Bundlers set it, and npm then lists less.
    vi.stubEnv('NODE_ENV', 'production');
    onTestFinished(() => void vi.unstubAllEnvs());
    const bill = billOfMaterials();
    const names = bill.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['lmdb', 'fastify', '@tidemark/core']));
    expect(names).not.toContain('vitest');
    expect(bill.components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name)).toEqual([]);
    expect(billOfMaterials()).toEqual(bill);
  });

  it('[RELEASE-3] the checksums are those that sha256sum checks', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'one.tgz'), 'one');
    writeFileSync(join(folder, 'two.tgz'), 'two');
    writeChecksums(folder);
    const checked = execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: folder, encoding: 'utf8' });
    expect(checked).toBe('one.tgz: OK\ntwo.tgz: OK\n');
  });
});
