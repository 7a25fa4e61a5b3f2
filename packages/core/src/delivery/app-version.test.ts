import { expect, it } from 'vitest';
import { isBelow, readVersion } from './app-version.ts';

function below(left: string, right: string): boolean | null {
  const [version, other] = [readVersion(left), readVersion(right)];
  return version === null || other === null ? null : isBelow(version, other);
}

it('[DEVICE-25] versions are compared by their numbers', () => {
  expect([below('2.9', '2.10'), below('2.10', '2.9'), below('1', '2'), below('10', '9')]).toEqual([
    ...[true, false, true, false],
  ]);
  expect([below('2.4', '2.4.0'), below('2.4.0', '2.4'), below('2.4', '2.4.0.1'), below('v2.3', '2.4')]).toEqual([
    ...[false, false, true, true],
  ]);
});

it('[DEVICE-25] a pre-release is below its release, and pre-releases are compared by number and word', () => {
  expect([below('2.4.0-beta', '2.4'), below('2.4', '2.4.0-beta'), below('2.4-beta.2', '2.4-beta.10')]).toEqual([
    ...[true, false, true],
  ]);
  expect([below('2.4-alpha', '2.4-beta'), below('2.4-1', '2.4-beta'), below('2.4-beta', '2.4-beta.1')]).toEqual([
    ...[true, true, true],
  ]);
  expect([below('2.4-beta', '2.4-beta'), below('2.4-beta', '2.4-1')]).toEqual([false, false]);
});

it('[DEVICE-25] what follows a version does not matter, and a text without one is no version', () => {
  expect([below('2.3 (17)', '2.4'), below('2.3+build.9', '2.4')]).toEqual([true, true]);
  expect([readVersion(''), readVersion('new'), readVersion('-1'), readVersion('1.'.repeat(20))]).toEqual([
    ...[null, null, null, null],
  ]);
});
