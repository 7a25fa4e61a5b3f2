import { Caller, sendRaw } from '@tidemark/testing';
import { ADMIN_PASSWORD, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

let server: TestServer;
let admin: Caller;
let stranger: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  stranger = new Caller(server.url, null);
});

afterAll(async () => {
  admin.close();
  stranger.close();
  await server.close();
});

function withToken(token: string): Promise<{ readonly status: number; readonly code: string | null }> {
  return stranger.get('/rc/v1/users', { 'x-sync-api-token': token });
}

async function tokenFor(...scopes: readonly string[]): Promise<{ readonly token: string; readonly id: string }> {
  return (await admin.post('/rc/v1/tokens', { name: scopes.join(' '), scopes })).body as { token: string; id: string };
}

describe('a token', () => {
  it('[HARD-9] a token is checked before anything else of the request', async () => {
    const reply = await stranger.postText('/rc/v1/users', '{"torn');
    expect([reply.status, reply.code]).toEqual([401, 'token_missing']);
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="tidemark"');
  });

  it('[HARD-10] a token with one changed character is refused, wherever it is', async () => {
    for (let place = 0; place < server.token.length; place++) {
      const other = server.token[place] === 'A' ? 'B' : 'A';
      const changed = server.token.slice(0, place) + other + server.token.slice(place + 1);
      expect(await withToken(changed)).toMatchObject({ status: 401, code: 'token_invalid' });
    }
  });

  it('[HARD-10] a token that this server never issued, or has revoked, is refused', async () => {
    const other = await startTestServer();
    onTestFinished(() => other.close());
    expect(await withToken(other.token)).toMatchObject({ status: 401, code: 'token_invalid' });
    const { token, id } = await tokenFor('read');
    expect(await withToken(token)).toMatchObject({ status: 200 });
    await admin.delete(`/rc/v1/tokens/${id}`);
    expect(await withToken(token)).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('[HARD-10] a change of the password revokes the tokens of the user, and of nobody else', async () => {
    await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'first' } });
    const issued = await admin.post('/rc/v1/tokens', { name: 'of anna', scopes: ['read'], user: 'anna' });
    const { token } = issued.body as { readonly token: string };
    await admin.put('/rc/v1/users/anna', { attributes: { email: 'a@example' } });
    expect(await withToken(token)).toMatchObject({ status: 200 });
    await admin.put('/rc/v1/users/anna', { attributes: { password: 'second' } });
    expect(await withToken(token)).toMatchObject({ status: 401, code: 'token_invalid' });
    expect(await withToken(server.token)).toMatchObject({ status: 200 });
  });

  it('[HARD-11] a token in the query, the body or a cookie is ignored', async () => {
    const { token } = server;
    for (const reply of [
      await stranger.get(`/rc/v1/users?x-sync-api-token=${token}`),
      await stranger.get(`/rc/v1/users?access_token=${token}`),
      await stranger.post('/rc/v1/users', { attributes: {}, api_token: token }),
      await stranger.get('/rc/v1/users', { cookie: `x-sync-api-token=${token}` }),
    ]) {
      expect([reply.status, reply.code]).toEqual([401, 'token_missing']);
      expect(reply.text).not.toContain(token);
    }
  });

  it.each([
    ['a line break', 'a\nb', 400],
    ['a lone carriage return', 'a\rb', 400],
    ['a NUL', 'a\0b', 400],
    ['100 kB', 'a'.repeat(100_000), 431],
  ])('[HARD-12] a token with %s is refused as invalid HTTP', async (_what, token, status) => {
    const head = `GET /rc/v1/users HTTP/1.1\r\nhost: x\r\nx-sync-api-token: ${token}\r\n\r\n`;
    const answer = await sendRaw(server.port, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(status === 431 ? '"code":"headers_too_large"' : '"code":"invalid_request"');
  });

  it('[HARD-12] a token of 8,000 characters gets 401', async () => {
    expect(await withToken('t'.repeat(8_000))).toMatchObject({ status: 401, code: 'token_invalid' });
  });
});

describe('scopes', () => {
  it('[HARD-13] read tokens cannot write, push tokens and device tokens cannot administer', async () => {
    await admin.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    const push = '/app/v1/Product/push_objects';
    const may = async (scope: string) => {
      const caller = new Caller(server.url, (await tokenFor(scope)).token);
      onTestFinished(() => caller.close());
      const replies = [
        await caller.get('/rc/v1/users'),
        await caller.post('/rc/v1/store/x', { data: 'x' }),
        await caller.post(push, { objects: {} }),
        await caller.get('/rc/v1/tokens'),
        await caller.post('/rc/v1/system/reset', {}),
      ];
      return replies.map(({ status, code }) => code ?? status);
    };
    expect(await may('read')).toEqual([200, 'forbidden', 'forbidden', 'forbidden', 'forbidden']);
    expect(await may('push')).toEqual(['forbidden', 'forbidden', 200, 'forbidden', 'forbidden']);
    expect(await may('device')).toEqual(['forbidden', 'forbidden', 'forbidden', 'forbidden', 'forbidden']);
    expect(await may('admin')).toEqual([200, 200, 200, 200, 'forbidden']);
  });

  it('[HARD-14] a token without admin:reset can neither reset nor create a token that may', async () => {
    const caller = new Caller(server.url, (await tokenFor('admin')).token);
    onTestFinished(() => caller.close());
    expect(await caller.post('/rc/v1/system/reset', {})).toMatchObject({ status: 403, code: 'forbidden' });
    expect(await caller.post('/rc/v1/tokens', { name: 'x', scopes: ['admin:reset'] })).toMatchObject({
      code: 'forbidden',
    });
  });

  it('[TOKEN-11] a token with the scope admin cannot become an administrator with all scopes', async () => {
    const caller = new Caller(server.url, (await tokenFor('admin')).token);
    onTestFinished(() => caller.close());
    const session = await tokenFor('admin', 'admin:reset');
    const refused = [
      await caller.put('/rc/v1/users/admin', { attributes: { password: 'mine now' } }),
      await caller.delete('/rc/v1/users/admin'),
      await caller.delete(`/rc/v1/tokens/${session.id}`),
    ];
    for (const reply of refused) expect(reply).toMatchObject({ status: 403, code: 'forbidden' });
    expect(await withToken(session.token)).toMatchObject({ status: 200 });
    const login = { login: 'admin', password: ADMIN_PASSWORD };
    expect(await stranger.post('/rc/v1/system/login', login)).toMatchObject({ status: 200 });
  });

  it('[TOKEN-11] a token with the scope admin manages ordinary users and its own kind of tokens', async () => {
    const own = await tokenFor('admin');
    const caller = new Caller(server.url, own.token);
    onTestFinished(() => caller.close());
    await admin.post('/rc/v1/users', { attributes: { login: 'ben', password: 'first' } });
    const made = await caller.post('/rc/v1/tokens', { name: 'next', scopes: ['admin'] });
    const allowed = [
      await caller.put('/rc/v1/users/ben', { attributes: { password: 'second' } }),
      await caller.put('/rc/v1/users/admin', { attributes: { email: 'root@example.com' } }),
      await caller.delete('/rc/v1/users/ben'),
      made,
      await caller.delete(`/rc/v1/tokens/${(made.body as { readonly id: string }).id}`),
      await caller.delete(`/rc/v1/tokens/${own.id}`),
    ];
    expect(allowed.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await caller.post('/rc/v1/tokens', { name: 'x', scopes: ['read'] })).toMatchObject({ status: 401 });
  });

  it('[HARD-14] a server on which resets are off refuses them to everybody', async () => {
    const kept = await startTestServer({ isResetAllowed: false });
    onTestFinished(() => kept.close());
    const caller = new Caller(kept.url, kept.token);
    onTestFinished(() => caller.close());
    await caller.post('/rc/v1/store/x', { data: 'still here' });
    expect(await caller.post('/rc/v1/system/reset', {})).toMatchObject({ status: 403, code: 'reset_disabled' });
    expect((await caller.get('/rc/v1/store/x')).body).toBe('still here');
  });

  it('[HARD-23] no list and no view shows a password, a hash, a salt or a token', async () => {
    await admin.post('/rc/v1/users', { attributes: { login: 'zoe', password: 'password of zoe' } });
    const { token } = await tokenFor('read');
    const texts = await Promise.all(
      ['/rc/v1/users', '/rc/v1/users/zoe', '/rc/v1/users/admin', '/rc/v1/tokens', '/rc/v1/audit'].map(
        async (path) => (await admin.get(path)).text,
      ),
    );
    for (const text of texts) {
      expect(text).not.toMatch(/password of zoe|argon2|scrypt|tmk_|salt|hash/i);
      for (const secret of [ADMIN_PASSWORD, server.token, token]) expect(text).not.toContain(secret);
    }
  });
});
