import { describe, expect, it } from 'vitest';
import { DEFAULT_RETRY_POLICY, pauseBeforeNextMs, type Repetition } from './retry-policy.ts';
import { TidemarkError } from './tidemark-error.ts';

const policy = { attemptsMax: 4, firstPauseMsMax: 100, pauseMsMax: 1_000 };

function failure(code: string, status: number | null, more: { retryAfterMs?: number; wasNeverSent?: boolean } = {}) {
  return new TidemarkError(code as 'timeout', 'it failed', { status, ...more });
}

function isRepeated(error: TidemarkError, repetition: Repetition): boolean {
  return pauseBeforeNextMs(policy, { attempt: 1, error, repetition }, 0) !== null;
}

describe('what is repeated', () => {
  it.each([
    ['refused at the door', failure('overloaded', 503), true, true],
    ['too many requests', failure('rate_limited', 429), true, true],
    ['never sent', failure('unreachable', null, { wasNeverSent: true }), true, true],
    ['the connection broke', failure('unreachable', null), true, false],
    ['no answer in time', failure('timeout', null), true, false],
    ['overtaken by other writers', failure('write_conflict', 409), true, false],
    ['the store has trouble', failure('store_unavailable', 503), true, false],
    ['a proxy has trouble', failure('http_502', 502), true, false],
    ['a proxy waited too long', failure('http_504', 504), true, false],
    ['a bug of the server', failure('internal', 500), false, false],
    ['the disk is full', failure('store_full', 507), false, false],
    ['taken already', failure('user_exists', 409), false, false],
    ['wrong', failure('invalid_request', 400), false, false],
    ['not allowed', failure('token_invalid', 401), false, false],
  ] as const)('[BSDK-2] %s', (_, error, harmless, harmful) => {
    expect([isRepeated(error, 'harmless'), isRepeated(error, 'harmful')]).toEqual([harmless, harmful]);
  });
});

describe('how long it pauses', () => {
  const error = failure('overloaded', 503);

  it('[BSDK-3] anywhere between nothing and a ceiling that doubles, up to the longest pause', () => {
    const most = [1, 2, 3, 9].map((attempt) =>
      pauseBeforeNextMs({ ...policy, attemptsMax: 10 }, { attempt, error, repetition: 'harmless' }, 1),
    );
    expect(most).toEqual([100, 200, 400, 1_000]);
    expect(pauseBeforeNextMs(policy, { attempt: 3, error, repetition: 'harmless' }, 0)).toBe(0);
    expect(pauseBeforeNextMs(policy, { attempt: 3, error, repetition: 'harmless' }, 0.5)).toBe(200);
  });

  it('[BSDK-3] never less than the server asks for, and not at all when it asks for more than the longest pause', () => {
    const asked = (retryAfterMs: number) => failure('rate_limited', 429, { retryAfterMs });
    expect(pauseBeforeNextMs(policy, { attempt: 1, error: asked(700), repetition: 'harmful' }, 0.5)).toBe(750);
    expect(pauseBeforeNextMs(policy, { attempt: 1, error: asked(1_000), repetition: 'harmful' }, 0)).toBe(1_000);
    expect(pauseBeforeNextMs(policy, { attempt: 1, error: asked(1_001), repetition: 'harmful' }, 0)).toBeNull();
  });

  it('[BSDK-3] not after the last attempt', () => {
    expect(pauseBeforeNextMs(policy, { attempt: 3, error, repetition: 'harmless' }, 0)).not.toBeNull();
    expect(pauseBeforeNextMs(policy, { attempt: 4, error, repetition: 'harmless' }, 0)).toBeNull();
    expect(DEFAULT_RETRY_POLICY.attemptsMax).toBeLessThanOrEqual(10);
  });
});
