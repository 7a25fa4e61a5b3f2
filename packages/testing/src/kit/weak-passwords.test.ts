import { seededRandom } from '@tidemark/client-testing';
import { expect, it } from 'vitest';
import { weakPasswords } from './weak-passwords.ts';

it('a password is verified by its hash and by no other', async () => {
  const passwords = weakPasswords(seededRandom(1));
  const hash = await passwords.hash('correct horse');
  expect(await passwords.verify('correct horse', hash)).toBe(true);
  expect(await passwords.verify('Correct horse', hash)).toBe(false);
  expect(await passwords.verify('', hash)).toBe(false);
  expect(hash).not.toContain('correct');
});

it('the same password has another hash every time', async () => {
  const passwords = weakPasswords(seededRandom(1));
  expect(await passwords.hash('same')).not.toBe(await passwords.hash('same'));
});

it('a text that is no hash of this kit is a mistake in the test', async () => {
  await expect(weakPasswords(seededRandom(1)).verify('p', 'plain text')).rejects.toThrow('not a hash');
});
