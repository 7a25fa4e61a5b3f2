import { claimPushNotice, Tidemark } from '@tidemark/core';
import { CLOCK_SKEW_MS_MAX, Refusal } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { refs } from './entries/refs.ts';
import { trimPoint } from './journal/trim.ts';
import { isWorthRecording } from './pages/record-tidemark.ts';
import type { Adapter } from './ports/adapter.ts';
import { elapsedMs, isAhead } from './ports/clock.ts';
import type { LeasedJob } from './ports/jobs.ts';
import { sharedPartition } from './ports/owner.ts';

const DAY_MS = 86_400_000;
/** A clock that was ahead for so long that nobody would wait for it. */
const MONTH_MS = 29 * DAY_MS;
const NOW = 1_700_000_000_000;
const STOCK = { source: 'Stock' };

async function setUp(attributes: Record<string, unknown>) {
  let queries = 0;
  let answer = async (): Promise<{ objects: unknown }> => ({ objects: {} });
  const adapter: Adapter = {
    query: () => {
      queries += 1;
      return answer();
    },
    create: async () => '1',
    update: async () => undefined,
    delete: async () => undefined,
  };
  const clock = settableClock(NOW);
  const jobs = openMemoryJobs({ clock });
  const adapters = { find: () => adapter };
  const fixture = await newTidemark({ adapters, clock, jobs, loginsKeptMs: DAY_MS });
  await fixture.tidemark.sources.declare({ name: 'Stock', partition_type: 'app', adapter: 'backend', ...attributes });
  return {
    ...fixture,
    jobs,
    clock,
    queries: () => queries,
    answerWith: (other: typeof answer) => {
      answer = other;
    },
    serverBeside: () => {
      const random = seededRandom(4);
      return new Tidemark({ ...fixture, clock, random, passwords: weakPasswords(random), adapters });
    },
    pull: () => fixture.tidemark.refresher.ensureFresh(STOCK),
  };
}

describe('stored times after the clock was ahead', () => {
  it('[CLOCK-1] a time ahead of the clock by at most CLOCK_SKEW_MS_MAX counts as now, and one further ahead as long past', () => {
    expect([elapsedMs(NOW - 5, NOW), elapsedMs(NOW, NOW)]).toEqual([5, 0]);
    expect(elapsedMs(NOW + CLOCK_SKEW_MS_MAX, NOW)).toBe(0);
    expect(elapsedMs(NOW + CLOCK_SKEW_MS_MAX + 1, NOW)).toBe(Number.POSITIVE_INFINITY);
    expect([isAhead(NOW + CLOCK_SKEW_MS_MAX, NOW), isAhead(NOW + CLOCK_SKEW_MS_MAX + 1, NOW)]).toEqual([false, true]);
  });

  it('[CLOCK-1] a source is polled at its interval after a clock that was a month ahead is set back', async () => {
    const { clock, pull, queries } = await setUp({ poll_interval: 60 });
    clock.advance(MONTH_MS);
    await pull();
    clock.set(NOW);
    for (let minute = 0; minute < 5; minute++) {
      await pull();
      clock.advance(60_000);
    }
    expect(queries()).toBe(6);
  });

  it('[CLOCK-1] a backend that failed while the clock was ahead is asked again after it is set back', async () => {
    const { clock, pull, queries, answerWith } = await setUp({ poll_interval: 0 });
    clock.advance(MONTH_MS);
    answerWith(() => Promise.reject(new Refusal('backend_unavailable', 'nobody there')));
    await pull();
    clock.set(NOW);
    answerWith(async () => ({ objects: {} }));
    expect([await pull(), queries()]).toEqual([null, 2]);
  });

  it('[CLOCK-1] a refresh asked for while the clock was ahead happens after it is set back', async () => {
    const { tidemark, clock, pull, queries } = await setUp({ poll_interval: -1 });
    clock.advance(MONTH_MS);
    await tidemark.sources.refreshTimes.set('Stock', 'ada', 30);
    clock.set(NOW);
    await pull();
    expect(queries()).toBe(1);
  });

  it('[CLOCK-1] a refresh lease taken while the clock was ahead ends when it is set back', async () => {
    const { clock, pull, queries, answerWith, serverBeside } = await setUp({ poll_interval: 0 });
    clock.advance(MONTH_MS);
    // The server dies while its backend is asked.
    answerWith(() => new Promise(() => undefined));
    void pull();
    while (queries() === 0) await Promise.resolve();
    clock.set(NOW);
    answerWith(async () => ({ objects: {} }));
    expect(await serverBeside().refresher.ensureFresh(STOCK)).toBeNull();
    expect(queries()).toBe(2);
  });

  it('[CLOCK-1] a refresh queued while the clock was ahead is queued again after the clock is set back', async () => {
    const { tidemark, clock, pull, queries, jobs } = await setUp({ poll_interval: 60, queue: 'slow' });
    clock.advance(MONTH_MS);
    await pull();
    const lost = (await jobs.lease('slow', 1_000)) as LeasedJob;
    await jobs.acknowledge(lost);
    clock.set(NOW);
    await pull();
    const job = (await jobs.lease('slow', 1_000)) as LeasedJob;
    await tidemark.refresher.handler(job, () => new AbortController().signal);
    expect(queries()).toBe(1);
  });

  it('[CLOCK-1] the last sync of a device recorded while the clock was ahead is recorded again after it is set back', async () => {
    const { tidemark, clock } = await setUp({});
    const { client_id } = await tidemark.clients.register('ada', {});
    await tidemark.clients.noteSync(client_id, NOW + MONTH_MS);
    await tidemark.clients.noteSync(client_id, clock.nowMs());
    expect((await tidemark.clients.own('ada', client_id)).lastSyncMs).toBe(NOW);
    const mark = { client: 'c', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: NOW };
    expect(isWorthRecording({ ...mark, seenAtMs: NOW + MONTH_MS }, mark)).toBe(true);
  });

  it('[CLOCK-1] a login remembered while the clock was ahead is not remembered for longer', async () => {
    const { tidemark, clock } = await setUp({});
    const vouched = { login: 'ada', password: 'long enough', backend: 'b' };
    clock.advance(MONTH_MS);
    await tidemark.logins.remember(vouched, 'ada');
    expect(await tidemark.logins.recall(vouched)).toBe('ada');
    clock.set(NOW);
    expect(await tidemark.logins.recall(vouched)).toBeNull();
  });

  it('[CLOCK-1] a change is announced after a clock that was ahead at the last announcement is set back', async () => {
    const { tidemark, store, clock } = await setUp({});
    const ports = { store, clock, sources: tidemark.sources };
    const partition = sharedPartition('Stock');
    const announce = async (id: string) => {
      await tidemark.objects.push({ ...STOCK, objects: { [id]: { a: 1 } } });
      return claimPushNotice(ports, partition, 10_000);
    };
    clock.advance(MONTH_MS);
    expect(await announce('1')).toBe('send');
    clock.set(NOW);
    expect(await announce('2')).toBe('send');
    expect(await announce('3')).toBe('wait');
  });
});

describe('retention after the clock was ahead', () => {
  it('[CLOCK-2] a token issued while the clock was ahead expires one lifetime after the next trim', async () => {
    const { tidemark, clock, store } = await setUp({});
    clock.advance(MONTH_MS);
    const call = { user: 'ada', name: null, scopes: ['device'] as const, client: null };
    const { token } = await tidemark.tokens.issue({ ...call, expiresAtMs: clock.nowMs() + DAY_MS });
    const lasting = await tidemark.tokens.issue({ ...call, expiresAtMs: null });
    clock.set(NOW);
    expect(await tidemark.tokens.bearers.check(token, NOW)).not.toBeNull();
    expect(await tidemark.tokens.trimExpired(NOW)).toBe(0);
    const hash = tidemark.tokens.bearers.hashOf(token) ?? '';
    const kept = await store.readEntry(refs.token(hash));
    expect(JSON.parse(kept?.value ?? '')).toMatchObject({ createdAtMs: NOW, expiresAtMs: NOW + DAY_MS });
    expect((await store.readEntry(refs.userToken('ada', hash)))?.value).toBe(kept?.value);
    expect(await tidemark.tokens.bearers.check(token, NOW + DAY_MS)).toBeNull();
    expect(await tidemark.tokens.bearers.check(lasting.token, NOW + MONTH_MS)).not.toBeNull();
  });

  it('[CLOCK-3] a device last seen in the future holds tombstones, unless that is further ahead than the retention time', () => {
    const state = { epoch: 'e', head: 9, floor: 0, size: 0, checksum: 0 };
    const terms = { nowMs: NOW, retentionMs: MONTH_MS };
    const point = (seenAtMs: number) =>
      trimPoint(state, [{ client: 'c', epoch: 'e', seq: 4, base: 4, start: null, seenAtMs }], terms);
    expect([point(NOW + DAY_MS), point(NOW + MONTH_MS), point(NOW + MONTH_MS + 1)]).toEqual([4, 4, 9]);
  });
});
