import type { Bearer } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { settableClock } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RateLimits } from '../config/config.ts';
import { RateLimiter, type SpentRequests } from './rate-limiter.ts';

const NO_LIMITS: RateLimits = { windowS: 10, perDevice: 0, perUser: 0, perToken: 0 };

function bearerOf(user: string, client: string | null, tokenId = 't1'): Bearer {
  return { tokenId, tokenHash: 'h', user, name: null, scopes: [], client, expiresAtMs: null, isByRole: false };
}

/** How many of so many requests are let through. */
function taken(limiter: RateLimiter, bearer: Bearer, requests: number): number {
  const answers = Array.from({ length: requests }, () => limiter.take(bearer));
  return answers.filter((answer) => !(answer instanceof Refusal)).length;
}

describe('rate limits', () => {
  it('[RATE-1] a device, the devices of a user, and a token each have the requests of a window', () => {
    const clock = settableClock();
    const limiter = new RateLimiter({ windowS: 10, perDevice: 5, perUser: 8, perToken: 3 }, clock);
    expect(taken(limiter, bearerOf('ada', 'phone'), 10)).toBe(5);
    expect(taken(limiter, bearerOf('ada', 'laptop'), 10)).toBe(3);
    expect(taken(limiter, bearerOf('bob', 'phone'), 10)).toBe(5);
    expect(taken(limiter, bearerOf('admin', null, 't1'), 10)).toBe(3);
    expect(taken(limiter, bearerOf('admin', null, 't2'), 10)).toBe(3);
    clock.advance(10_000);
    expect(taken(limiter, bearerOf('ada', 'phone'), 10)).toBe(5);
  });

  it('[RATE-1] a refused request costs nothing, and says when the next one is possible', () => {
    const clock = settableClock();
    const limiter = new RateLimiter({ ...NO_LIMITS, perDevice: 2 }, clock);
    const device = bearerOf('ada', 'phone');
    expect(taken(limiter, device, 50)).toBe(2);
    expect(limiter.take(device)).toMatchObject({ code: 'rate_limited', retryAfterS: 5 });
    clock.advance(5_000);
    expect(taken(limiter, device, 50)).toBe(1);
  });

  it('[RATE-1] a request that one limit refuses is not counted for another', () => {
    const limiter = new RateLimiter({ ...NO_LIMITS, perDevice: 1, perUser: 3 }, settableClock());
    expect(taken(limiter, bearerOf('ada', 'phone'), 10)).toBe(1);
    expect(taken(limiter, bearerOf('ada', 'laptop'), 10)).toBe(1);
    expect(taken(limiter, bearerOf('ada', 'tablet'), 10)).toBe(1);
    expect(taken(limiter, bearerOf('ada', 'watch'), 10)).toBe(0);
  });

  it('[RATE-2] the headers name each limit, what is left of it, and when it is whole again', () => {
    const limiter = new RateLimiter({ ...NO_LIMITS, perDevice: 20, perUser: 100 }, settableClock());
    expect(limiter.take(bearerOf('ada', 'phone'))).toEqual({
      policy: '"device";q=20;w=10, "user";q=100;w=10',
      state: '"device";r=19;t=1, "user";r=99;t=1',
    });
    expect(limiter.take(bearerOf('admin', null))).toBeNull();
  });

  it('[RATE-3] a caller who changes between two servers gets little more than from one', () => {
    const clock = settableClock();
    const servers: RateLimiter[] = [];
    const limits = { ...NO_LIMITS, perDevice: 100 };
    const hints: SpentRequests[] = [];
    for (const other of [1, 0]) {
      servers.push(
        new RateLimiter(limits, clock, (spent) => {
          hints.push(spent);
          servers[other]?.noteSpent(spent);
        }),
      );
    }
    let passed = 0;
    for (let request = 0; request < 400; request++) {
      const answer = servers[request % 2]?.take(bearerOf('ada', 'phone'));
      if (!(answer instanceof Refusal)) passed++;
    }
    // Half of a bucket is used up at each server before they tell each other.
    expect(passed).toBeGreaterThanOrEqual(100);
    expect(passed).toBeLessThanOrEqual(160);
    expect(hints.length).toBeLessThanOrEqual(20);
  });
});

describe('rate limits over HTTP', () => {
  it('[RATE-2] every answer says what is left, and a request beyond the limit gets 429 with Retry-After', async () => {
    // The window is so long that no request is given back during the test.
    const server = await startTestServer({ rateLimits: { ...NO_LIMITS, windowS: 3_600, perToken: 3 } });
    onTestFinished(() => server.close());
    const ask = (path: string) => fetch(`${server.url}${path}`, { headers: { 'X-Sync-API-TOKEN': server.token } });
    const answers = [await ask('/rc/v1/sources'), await ask('/rc/v1/users'), await ask('/rc/v1/sources')];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const left = answers.map(({ headers }) => /r=\d+/.exec(headers.get('ratelimit') ?? '')?.[0]);
    expect(left).toEqual(['r=2', 'r=1', 'r=0']);
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"token";q=3;w=3600');
    const refused = await ask('/rc/v1/sources');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await refused.json()).toMatchObject({ code: 'rate_limited' });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('[RATE-4] pulls without news that are repeated on one connection are counted', async () => {
    const server = await startTestServer({ rateLimits: { ...NO_LIMITS, windowS: 3_600, perDevice: 4 } });
    onTestFinished(() => server.close());
    const admin = { 'X-Sync-API-TOKEN': server.token, 'content-type': 'application/json' };
    const post = (path: string, headers: Record<string, string>, body: object) =>
      fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    await post('/rc/v1/users', admin, { attributes: { login: 'ada', password: 'long enough 1' } });
    const json = { 'content-type': 'application/json' };
    const session = await post('/sync/v1/login', json, { login: 'ada', password: 'long enough 1' });
    const { token, client_id } = (await session.json()) as Record<string, string>;
    const device = { ...json, authorization: `Bearer ${token}` };
    const statuses: number[] = [];
    for (let pull = 0; pull < 6; pull++) {
      const answer = await post('/sync/v1/pull', device, { client_id, sources: {} });
      await answer.text();
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  });
});
