import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { report } from './files.mjs';
import { isEntry, ROOT } from './processes.mjs';

const PERMISSIVE = /^(?:MIT|MIT-0|Apache-2\.0|BSD-[A-Za-z0-9-]+|ISC|0BSD|BlueOak-1\.0\.0|Unlicense)$/;

/** Packages we ship although their licence is none of these, each with the reason why that is right. */
export const EXCEPTIONS = {};

/**
 * Everything we ship is under a permissive licence, and the lock file works with any registry.
 *
 * @param {{packages: Record<string, {license?: string, resolved?: string, dev?: boolean, link?: boolean}>}} lock
 * @param {Record<string, string>} exceptions package name → reason
 * @returns {string[]} what is wrong
 */
export function licenceProblems(lock, exceptions = EXCEPTIONS) {
  const entries = Object.entries(lock.packages);
  const shipped = entries.filter(([path, entry]) => path.includes('node_modules/') && !entry.dev && !entry.link);
  const names = new Set(shipped.map(([path]) => nameOf(path)));
  return [
    ...shipped.flatMap(([path, { license }]) => licenceProblem(nameOf(path), license, exceptions)),
    ...entries
      .filter(([, { resolved = '' }]) => resolved.includes(':'))
      .map(([path]) => `${nameOf(path)}: the lock file names where it comes from; .npmrc should have kept that out`),
    ...Object.keys(exceptions)
      .filter((name) => !names.has(name))
      .map((name) => `${name}: is listed as an exception but is not shipped`),
  ];
}

export function readLock(root) {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
}

function licenceProblem(name, licence, exceptions) {
  if (licence === undefined) return [`${name}: has no licence in the lock file`];
  if (isPermissive(licence)) return [];
  if (/^MPL-/.test(licence) && exceptions[name] !== undefined) return [];
  return [`${name}: ${licence} is not permissive`];
}

/** Of licences joined by OR one suffices, of those joined by AND all are needed; nesting is not understood. */
function isPermissive(expression) {
  const plain = expression.replace(/^\((.*)\)$/, '$1');
  if (/[()]/.test(plain)) return false;
  return plain.split(' OR ').some((choice) => choice.split(' AND ').every((licence) => PERMISSIVE.test(licence)));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

if (isEntry(import.meta.url)) {
  report(licenceProblems(readLock(ROOT)), 'every shipped dependency is under a permissive licence');
}
