import type { Bearer } from '@tidemark/core';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { requireNoLongerThan, requireRightOverToken, requireRightOverUser } from './administrator-rights.ts';

const bearer = (...scopes: Bearer['scopes']): Bearer => ({
  tokenId: 't',
  tokenHash: 'h',
  user: 'admin',
  name: null,
  scopes,
  client: null,
  expiresAtMs: null,
  isByRole: false,
});

const NOON_MS = Date.UTC(2030, 0, 31, 12);

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

  it.each([
    ['a session by a role', { isByRole: true }],
    ['a token with a name', { name: 'deploy' }],
  ])('[TOKEN-13] %s creates only tokens that end no later than it does', (_who, how) => {
    const creator = { ...bearer('admin'), expiresAtMs: NOON_MS, ...how };
    expect(() => requireNoLongerThan(creator, null)).toThrow('up to 2030-01-31T12:00:00.000Z');
    expect(() => requireNoLongerThan(creator, NOON_MS + 1)).toThrow('up to 2030-01-31T12:00:00.000Z');
    requireNoLongerThan(creator, NOON_MS);
    requireNoLongerThan({ ...creator, expiresAtMs: null }, null);
  });

  it('[TOKEN-13] a login with a password creates tokens that stay valid after it has ended', () => {
    requireNoLongerThan({ ...bearer('admin', 'admin:reset'), expiresAtMs: NOON_MS }, null);
  });
});
