import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { admitNewUser } from './admit-user.ts';

it('[FILES-4] the attributes of a user cannot refer to files', () => {
  const photo = { $file: { sha256: 'a1'.repeat(32), size: 3, type: 'image/jpeg' } };
  const user = { login: 'ann', password: 'long enough', photo };
  expect(() => admitNewUser(user, DEFAULT_LIMITS)).toThrow(expect.objectContaining({ code: 'invalid_value' }));
});
