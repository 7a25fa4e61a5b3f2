import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// What is built is judged by the content of the sources, never by file times: a restored or copied file keeps an old
// time, and TypeScript's own build would overlook it.

const STAMP = 'node_modules/.tidemark-build.json';
const OUTPUT = /(?:\.d\.ts|\.js)(?:\.map)?$/;

/** Do the outputs differ from what the sources would give? */
export function outputsAreStale(root) {
  const stamp = readStamp(root);
  return projectsOf(root).some((project) => projectIsStale(project, stamp));
}

/**
 * Leaves for `tsc -b` only what is right: outputs without a source go, and so does TypeScript's memory of every
 * project that changed, so that it is built whole.
 */
export function clearStaleOutputs(root) {
  const stamp = readStamp(root);
  rmSync(join(root, STAMP), { force: true });
  for (const project of projectsOf(root)) {
    if (projectIsStale(project, stamp)) rmSync(join(project.path, 'tsconfig.tsbuildinfo'), { force: true });
    for (const file of orphansOf(project)) rmSync(join(project.path, 'dist', file));
  }
}

/** What the sources are now; to be taken before a build and kept after it. */
export function fingerprintSources(root) {
  return Object.fromEntries(projectsOf(root).map((project) => [project.folder, project.fingerprint]));
}

export function stampOutputs(root, fingerprints) {
  writeFileSync(join(root, STAMP), JSON.stringify(fingerprints));
}

function projectIsStale(project, stamp) {
  return (
    stamp[project.folder] !== project.fingerprint ||
    project.sources.some((source) => !existsSync(join(project.path, 'dist', `${source}.js`))) ||
    orphansOf(project).length > 0
  );
}

function orphansOf(project) {
  const sources = new Set(project.sources);
  return filesUnder(join(project.path, 'dist')).filter(
    (file) => OUTPUT.test(file) && !sources.has(file.replace(OUTPUT, '')),
  );
}

function projectsOf(root) {
  const { references = [] } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  return references.map(({ path: folder }) => {
    const path = join(root, folder);
    const sources = filesUnder(join(path, 'src')).filter((file) => /(?<!\.d|\.test)\.tsx?$/.test(file));
    const settings = ['tsconfig.json', 'tsconfig.base.json', `${folder}/tsconfig.json`, `${folder}/package.json`];
    const files = [...settings, ...sources.map((source) => `${folder}/src/${source}`)];
    return {
      folder,
      path,
      sources: sources.map((source) => source.replace(/\.tsx?$/, '')),
      fingerprint: fingerprint(root, files),
    };
  });
}

function fingerprint(root, files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath ?? entry.path, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort();
}

function readStamp(root) {
  try {
    return JSON.parse(readFileSync(join(root, STAMP), 'utf8'));
  } catch {
    return {};
  }
}
