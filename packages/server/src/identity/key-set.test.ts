import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { collectingLog, refusalOf, settableClock } from '@tidemark/testing';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { IssuerKeys } from '../config/issuer-settings.ts';
import { systemTimers } from '../jobs/timers.ts';
import { ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_STALE_MS_MAX, ISSUER_REFETCH_MS } from '../limits.ts';
import { systemResolve } from '../outbound/checked-lookup.ts';
import { FetchFailure, getJson } from '../outbound/get-json.ts';
import { KeySet } from './key-set.ts';

const ISSUER = 'https://id.example';
const KEYS_URL = 'https://id.example/keys';
let key: JWK;

beforeAll(async () => {
  key = await exportJWK((await generateKeyPair('ES256', { extractable: true })).publicKey);
});

function setUp(keys: IssuerKeys = { kind: 'discovery' }) {
  const steadyClock = settableClock();
  const log = collectingLog();
  const documents = new Map<string, unknown>([
    [`${ISSUER}/.well-known/openid-configuration`, { issuer: ISSUER, jwks_uri: KEYS_URL }],
    [KEYS_URL, { keys: [{ ...key, kid: 'first' }] }],
  ]);
  const asked: string[] = [];
  const read = async (url: URL) => {
    asked.push(url.href);
    if (!documents.has(url.href)) throw new FetchFailure('answered 500');
    return documents.get(url.href);
  };
  const set = new KeySet({ issuer: { name: 'id', issuer: ISSUER, keys }, getJson: read, steadyClock, log });
  const find = (kid: string) => refusalOf(set.find({ alg: 'ES256', kid }).then(() => undefined));
  return { find, set, documents, asked, clock: steadyClock, log };
}

describe('the keys of an issuer', () => {
  it('[OIDC-3] are found by discovery and fetched once for many tokens', async () => {
    const { set, asked } = setUp();
    await Promise.all([1, 2, 3].map(() => set.find({ alg: 'ES256', kid: 'first' })));
    expect(asked).toEqual([`${ISSUER}/.well-known/openid-configuration`, KEYS_URL]);
  });

  it('[OIDC-13] are fetched again for an unknown key, at most once in a while', async () => {
    const { set, find, documents, asked, clock } = setUp({ kind: 'url', url: KEYS_URL });
    await set.find({ alg: 'ES256', kid: 'first' });
    documents.set(KEYS_URL, { keys: [{ ...key, kid: 'second' }] });
    expect(await find('second')).toBe('id_token_key_unknown');
    clock.advance(ISSUER_REFETCH_MS);
    await set.find({ alg: 'ES256', kid: 'second' });
    for (let count = 0; count < 10; count++) expect(await find('third')).toBe('id_token_key_unknown');
    expect(asked).toHaveLength(2);
  });

  it('[OIDC-19] that the issuer has withdrawn are refused when the fetched ones are no longer fresh', async () => {
    const { set, find, documents, clock } = setUp({ kind: 'url', url: KEYS_URL });
    await set.find({ alg: 'ES256', kid: 'first' });
    documents.set(KEYS_URL, { keys: [] });
    clock.advance(ISSUER_KEYS_FRESH_MS);
    expect(await find('first')).toBe('id_token_key_unknown');
  });

  it('[OIDC-4] are used on for a day while the issuer is down, then sign-ins get issuer_unavailable', async () => {
    const { set, find, documents, clock, log } = setUp({ kind: 'url', url: KEYS_URL });
    await set.find({ alg: 'ES256', kid: 'first' });
    documents.delete(KEYS_URL);
    clock.advance(ISSUER_KEYS_STALE_MS_MAX - 1);
    await set.find({ alg: 'ES256', kid: 'first' });
    clock.advance(1);
    expect(await find('first')).toBe('issuer_unavailable');
    expect(log.lines).toContainEqual({
      level: 'warn',
      event: 'issuer_keys_not_fetched',
      fields: { issuer: 'id', reason: 'answered 500' },
    });
  });

  it('[OIDC-20] are not taken from a discovery document of another issuer, or from an insecure address', async () => {
    const address = `${ISSUER}/.well-known/openid-configuration`;
    for (const document of [
      { issuer: 'https://evil.example', jwks_uri: KEYS_URL },
      { issuer: ISSUER, jwks_uri: 'http://id.example/keys' },
      { issuer: ISSUER, jwks_uri: 'file:///etc/passwd' },
      { issuer: ISSUER },
      null,
      [],
    ]) {
      const { find, documents, asked } = setUp();
      documents.set(address, document);
      expect(await find('first')).toBe('issuer_unavailable');
      expect(asked).toEqual([address]);
    }
  });

  it('[OIDC-20] are not used if the answer is malformed or has too many of them', async () => {
    const many = Array.from({ length: 101 }, () => key);
    for (const document of [null, {}, { keys: 'x' }, { keys: [7] }, { keys: many }]) {
      const { find, documents } = setUp();
      documents.set(KEYS_URL, document);
      expect(await find('first')).toBe('issuer_unavailable');
    }
  });

  it('[OIDC-21] that are fixed by the configuration are never fetched', async () => {
    const { set, find, asked } = setUp({ kind: 'fixed', keys: [{ ...key, kid: 'first' }] });
    await set.find({ alg: 'ES256', kid: 'first' });
    expect(await find('second')).toBe('id_token_key_unknown');
    expect(asked).toEqual([]);
  });
});

describe('a fetch from an issuer', () => {
  async function serve(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
    const server = createServer((_, response) => response.writeHead(status, headers).end(body));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  }

  const parts = { resolve: systemResolve, timers: systemTimers, timeoutMs: 60_000, bytesMax: 1_000 };
  const read = (url: URL, denyPrivate = false) => getJson(url, { ...parts, rules: { denyPrivate } });

  it('[OIDC-22] returns a JSON document', async () => {
    expect(await read(await serve(200, '{"a":1}'))).toEqual({ a: 1 });
  });

  it('[OIDC-22] fails on a redirect, an error, a long answer and what is not JSON', async () => {
    await expect(read(await serve(302, '', { location: 'http://169.254.169.254/' }))).rejects.toThrow('answered 302');
    await expect(read(await serve(500, '{}'))).rejects.toThrow('answered 500');
    await expect(read(await serve(200, `"${'x'.repeat(1_000)}"`))).rejects.toThrow('longer than 1000 bytes');
    await expect(read(await serve(200, '<html>'))).rejects.toThrow('not JSON');
  });

  it('[OIDC-22] never goes to a metadata address, nor to a private one where that is denied', async () => {
    await expect(read(new URL('http://169.254.169.254/keys'))).rejects.toThrow('not allowed');
    await expect(read(await serve(200, '{}'), true)).rejects.toThrow('not allowed');
    const resolve = async () => [{ address: '169.254.169.254', family: 4 }];
    const rebound = getJson(new URL('http://id.example/'), { ...parts, rules: { denyPrivate: false }, resolve });
    await expect(rebound).rejects.toThrow(FetchFailure);
  });

  it('[OIDC-22] ends after its time', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const late = getJson(url, { ...parts, rules: { denyPrivate: false }, timeoutMs: 20 });
    await expect(late).rejects.toThrow('no complete answer in 20 ms');
  });
});
