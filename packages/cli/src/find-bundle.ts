import { readdirSync, statSync } from 'node:fs';

/** Instrumentation changes packages while they are loaded, and cannot do so in a bundle. */
const PRELOADS = /(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader)(?:[\s=]|$)/;

/**
 * Returns the URL of the bundled command line. Null: there is none, modules are preloaded, or in a checkout the compiler
 * has run since the bundle was made.
 */
export function findBundle(from: string = import.meta.url, flags = flagsOfNode()): string | null {
  if (PRELOADS.test(flags)) return null;
  const entry = new URL('../bundle/run.js', from);
  const bundledMs = changedMs(entry);
  if (bundledMs === null) return null;
  const packages = new URL('../../', from);
  // Published packages do not have these records of the compiler.
  const records = readdirSync(packages).map((name) => new URL(`${name}/tsconfig.tsbuildinfo`, packages));
  return records.every((record) => (changedMs(record) ?? 0) < bundledMs) ? entry.href : null;
}

function flagsOfNode(): string {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
}

/** Returns null if there is no such file. */
function changedMs(file: URL): number | null {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? null;
}
