import { expect, it } from 'vitest';
import { licenceProblems, readLock } from './licences.mjs';
import { ROOT } from './processes.mjs';

function found(packages, exceptions = {}) {
  return licenceProblems({ packages }, exceptions);
}

it('every shipped dependency is under a permissive licence, and the lock file names no host', () => {
  expect(licenceProblems(readLock(ROOT))).toEqual([]);
});

it('the lock file that is looked at has dependencies', () => {
  expect(Object.keys(readLock(ROOT).packages)).toContain('node_modules/fastify');
});

it.each(['MIT', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', '0BSD', 'BlueOak-1.0.0', 'Unlicense'])(
  '%s is permissive',
  (license) => {
    expect(found({ 'node_modules/a': { license } })).toEqual([]);
  },
);

it.each(['GPL-3.0-only', 'AGPL-3.0', 'MPL-2.0', 'SEE LICENSE IN LICENSE', 'MIT AND GPL-3.0-only', '(MIT OR X) AND Y'])(
  '%s is not',
  (license) => {
    expect(found({ 'node_modules/a/node_modules/@b/c': { license } })).toEqual([`@b/c: ${license} is not permissive`]);
  },
);

it('one permissive choice suffices', () => {
  expect(found({ 'node_modules/a': { license: '(GPL-2.0-only OR MIT)' } })).toEqual([]);
});

it('tells a dependency without a licence', () => {
  expect(found({ 'node_modules/a': {} })).toEqual(['a: has no licence in the lock file']);
});

it('optional dependencies are shipped; development dependencies and our own packages are not looked at', () => {
  expect(
    found({
      'node_modules/a': { license: 'X', optional: true },
      'node_modules/b': { license: 'X', dev: true },
      'node_modules/@tidemark/core': { resolved: 'packages/core', link: true },
      'packages/core': { license: 'X' },
    }),
  ).toEqual(['a: X is not permissive']);
});

it('an exception needs MPL and a dependency that is really there', () => {
  const reasons = { a: 'used unchanged', b: 'used unchanged', gone: 'used unchanged' };
  expect(
    found({ 'node_modules/a': { license: 'MPL-2.0' }, 'node_modules/b': { license: 'GPL-3.0' } }, reasons),
  ).toEqual(['b: GPL-3.0 is not permissive', 'gone: is listed as an exception but is not shipped']);
});

it('tells a host in the lock file', () => {
  expect(found({ 'node_modules/a': { license: 'MIT', dev: true, resolved: 'http://registry.example/a.tgz' } })).toEqual(
    ['a: the lock file names where it comes from; .npmrc should have kept that out'],
  );
});
