import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { licenceProblems, readLock } from './licences.mjs';
import { packAll, publishedPackages, readManifest } from './pack.mjs';
import { isEntry, ROOT, run } from './processes.mjs';
import { setup } from './setup.mjs';

/** Where a release is put together: tarballs, bill of materials, notes and checksums. */
const RELEASE = join(ROOT, 'release');
const VERSION = /^\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?$/;
/** Types, exports and contents of the tarballs, their sizes, and the files for deployment. */
const CHECKS = [
  'scripts/pack.test.mjs',
  'scripts/packed.long.test.mjs',
  'scripts/packages.test.mjs',
  'scripts/sizes.test.mjs',
  'packages/cli/src/deploy.test.ts',
];

/** Returns the first section of the changelog: its version, its date or null, and its text. */
export function newestChanges(changelog) {
  const [, version, note, text] = /^## (\S+) \(([^)]+)\)\n([\s\S]*?)(?=^## |$(?![\s\S]))/m.exec(changelog) ?? [];
  if (version === undefined) throw new Error('CHANGELOG.md: expected a section "## <version> (unreleased or a date)"');
  return { version, date: note === 'unreleased' ? null : note, text: text.trim() };
}

/** The folders of all workspaces that have a version, relative to the root. */
function workspaces(root) {
  const { packages } = readLock(root);
  return Object.keys(packages).filter(
    (path) => path === '' || (!path.includes('node_modules/') && packages[path].version),
  );
}

/** Returns what is wrong with the versions: all packages have the same one, need each other in it, and are in the changelog. */
export function versionProblems(root, version) {
  const problems = [];
  const own = new Set(workspaces(root).map((folder) => readManifest(root, folder).name));
  for (const folder of workspaces(root)) {
    const { name, version: found, ...manifest } = readManifest(root, folder);
    if (found !== version) problems.push(`${name}: has version ${found}, expected ${version}`);
    const needed = { ...manifest.dependencies, ...manifest.devDependencies };
    for (const [other, wanted] of Object.entries(needed)) {
      if (own.has(other) && wanted !== version) problems.push(`${name}: needs ${other} ${wanted}, expected ${version}`);
    }
  }
  const changes = newestChanges(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'));
  if (changes.version !== version) problems.push(`CHANGELOG.md: begins with ${changes.version}, expected ${version}`);
  if (changes.text === '') problems.push(`CHANGELOG.md: ${version} has no notes`);
  return problems;
}

/** Writes a version into all manifests and the lock file, and dates its section of the changelog. Returns the files. */
export function setVersion(root, version, date) {
  const { version: old } = readManifest(root, '');
  const folders = workspaces(root);
  const names = folders.map((folder) => readManifest(root, folder).name);
  const manifests = folders.map((folder) => join(folder, 'package.json'));
  // Texts are changed, not parsed ones, because manifests are formatted by hand.
  for (const file of manifests) {
    change(root, file, (text) => {
      const lines = ['version', ...names].map((name) => `"${name}": "`);
      return lines.reduce((changed, line) => changed.replaceAll(`${line}${old}"`, `${line}${version}"`), text);
    });
  }
  change(root, 'package-lock.json', (text) => {
    const lock = JSON.parse(text);
    lock.version = version;
    for (const folder of folders) renewVersion(lock.packages[folder], { old, version, names });
    return `${JSON.stringify(lock, null, 2)}\n`;
  });
  change(root, 'CHANGELOG.md', (text) => text.replace(`## ${version} (unreleased)`, `## ${version} (${date})`));
  return [...manifests, 'package-lock.json', 'CHANGELOG.md'];
}

function change(root, file, edit) {
  writeFileSync(join(root, file), edit(readFileSync(join(root, file), 'utf8')));
}

function renewVersion(entry, { old, version, names }) {
  entry.version = version;
  for (const needed of [entry.dependencies, entry.devDependencies, entry.peerDependencies]) {
    for (const name of Object.keys(needed ?? {})) {
      if (names.includes(name) && needed[name] === old) needed[name] = version;
    }
  }
}

/**
 * The bill of materials of what is shipped (CycloneDX), without what differs from run to run. `npm sbom --omit dev` leaves
 * out packages that are needed in both ways, so everything is listed first and the lock file says what is shipped.
 */
export function billOfMaterials(root = ROOT) {
  const { status, stdout, stderr } = npm(['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], root);
  if (status !== 0) throw new Error(`npm sbom failed: ${stderr}`);
  const { serialNumber: _, metadata, components, dependencies, ...bill } = JSON.parse(stdout);
  const shipped = shippedPackages(root);
  // npm names our own packages by their folders; the address (purl) has the whole name.
  const named = components.map((component) => ({ ...component, name: nameIn(component.purl) }));
  const listed = named.filter(({ name, version }) => shipped.has(`${name}@${version}`));
  const refs = new Set(listed.map((component) => component['bom-ref']));
  const needed = dependencies.filter(({ ref }) => refs.has(ref));
  return {
    ...bill,
    metadata: { tools: metadata.tools, component: { ...metadata.component, name: 'tidemark' } },
    components: listed,
    dependencies: needed.map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((other) => refs.has(other)),
    })),
  };
}

function nameIn(purl) {
  const path = decodeURIComponent(purl.slice('pkg:npm/'.length));
  return path.slice(0, path.lastIndexOf('@'));
}

/** Name and version of all packages that are published, and of all that are installed with them. */
function shippedPackages(root) {
  const own = publishedPackages(root).map((folder) => readManifest(root, folder));
  const others = Object.entries(readLock(root).packages)
    .filter(([path, { dev, link }]) => path.includes('node_modules/') && !dev && !link)
    .map(([path, { version }]) => ({ name: path.slice(path.lastIndexOf('node_modules/') + 13), version }));
  return new Set([...own, ...others].map(({ name, version }) => `${name}@${version}`));
}

const AUDIT = ['audit', '--omit', 'dev'];
const NOT_AUDITED = `the registry gave no answer to npm audit, so known vulnerabilities were not checked; run "npm ${AUDIT.join(' ')}" where it answers before you publish`;

/** Returns what `npm audit` knows about what is shipped; null: the registry cannot be asked. */
function auditProblems(root) {
  const { stdout } = npm([...AUDIT, '--json'], root);
  const { vulnerabilities } = JSON.parse(stdout || '{}');
  if (vulnerabilities === undefined) return null;
  return Object.values(vulnerabilities).map(({ name, severity, range }) => `${name} ${range}: ${severity}`);
}

function npm(args, cwd) {
  // With NODE_ENV=production npm leaves packages out, also some that are shipped.
  const { NODE_ENV: _, ...env } = process.env;
  const shell = process.platform === 'win32';
  return spawnSync('npm', args, { cwd, env, encoding: 'utf8', shell, maxBuffer: 100_000_000 });
}

/** Writes the checksums of all files in a folder as `sha256sum --check` reads them. */
export function writeChecksums(folder) {
  const names = readdirSync(folder).filter((name) => name !== 'SHA256SUMS');
  const lines = names.sort().map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''));
  return lines;
}

export function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function refuse(problems) {
  for (const problem of problems) process.stderr.write(`tidemark: ${problem}\n`);
  if (problems.length > 0) process.exit(1);
}

/** Puts a release together in `release/`. Publishes nothing. */
async function release({ version, isChecked }) {
  await setup();
  refuse([...versionProblems(ROOT, version), ...licenceProblems(readLock(ROOT))]);
  const found = auditProblems(ROOT);
  refuse(found ?? []);
  say(found === null ? NOT_AUDITED : 'npm audit: nothing known');
  const env = { ...process.env, TIDEMARK_LONG_TESTS: '1' };
  if (isChecked && (await run('npx', ['vitest', 'run', ...CHECKS], { env })) !== 0)
    refuse(['the checks of the packages failed']);
  const tarballs = await packAll(RELEASE);
  writeFileSync(join(RELEASE, 'sbom.cdx.json'), `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
  const { text } = newestChanges(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'));
  writeFileSync(join(RELEASE, 'NOTES.md'), `# Tidemark ${version}\n\n${text}\n`);
  process.stdout.write(writeChecksums(RELEASE).join(''));
  return tarballs;
}

function say(text) {
  process.stderr.write(`tidemark: ${text}\n`);
}

if (isEntry(import.meta.url)) {
  const options = { 'dry-run': { type: 'boolean' }, version: { type: 'string' }, 'no-checks': { type: 'boolean' } };
  const { values } = parseArgs({ options });
  const version = values.version ?? readManifest(ROOT, '').version;
  if (!VERSION.test(version)) refuse([`--version: expected a version such as 1.2.3, got ${version}`]);
  const isDryRun = values['dry-run'] === true;
  if (!isDryRun) say(`changed: ${setVersion(ROOT, version, new Date().toISOString().slice(0, 10)).join(', ')}`);
  const tarballs = await release({ version, isChecked: values['no-checks'] !== true });
  const publish = tarballs.map((path) => `npm publish release/${basename(path)} --access public`);
  const image = `docker build -f deploy/Dockerfile -t tidemark:${version} .`;
  const commands = [`git commit -am "chore: release ${version}"`, `git tag v${version}`, ...publish, image];
  process.stdout.write(`\n${isDryRun ? 'A release would go on with' : 'Go on with'}:\n${commands.join('\n')}\n`);
}
