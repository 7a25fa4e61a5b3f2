import type { Bearer } from '@tidemark/core';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { requireRightOverToken, requireRightOverUser } from './administrator-rights.ts';

const bearer = (...scopes: Bearer['scopes']): Bearer => ({
  tokenId: 't',
  tokenHash: 'h',
  user: 'admin',
  name: null,
  scopes,
  client: null,
  expiresAtMs: null,
});

describe('rights over administrators', () => {
  it('[TOKEN-11] the scope admin alone gives no rights over another administrator and their tokens', async () => {
    const { tidemark } = await newTidemark();
    for (const login of ['admin', 'second']) await tidemark.users.createAdmin({ login, password: 'sea-urchin-4410' });
    await tidemark.users.create({ attributes: { login: 'anna', password: 'x' } });
    const ofUser = (who: Bearer, login: string) => refusalOf(requireRightOverUser(tidemark, who, login));
    const ofToken = (who: Bearer, user: string) =>
      refusalOf(requireRightOverToken(tidemark, who, { user, scopes: ['read'] }));
    expect(await ofUser(bearer('admin'), 'second')).toBe('forbidden');
    expect(await ofToken(bearer('admin'), 'second')).toBe('forbidden');
    for (const login of ['admin', 'second', 'anna', 'nobody', '\ud800']) {
      await requireRightOverUser(tidemark, bearer('admin', 'admin:reset'), login);
      await requireRightOverToken(tidemark, bearer('admin', 'admin:reset'), { user: login, scopes: ['admin:reset'] });
    }
    for (const login of ['anna', 'nobody', '\ud800']) {
      await requireRightOverUser(tidemark, bearer('admin'), login);
      await requireRightOverToken(tidemark, bearer('admin'), { user: login, scopes: ['read'] });
    }
    await requireRightOverToken(tidemark, bearer('admin'), { user: 'admin', scopes: ['admin'] });
  });
});
