import { AUDIT_GROUPS_MAX, AUDIT_SCAN_MAX, AUDIT_SUMMED_MS } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { newestFirstKey } from '../primitives/time.ts';
import type { AuditFact, AuditSearch } from './audit.ts';

const fact = (action: string): AuditFact => ({
  actor: 'admin',
  token_id: null,
  action,
  target: 'x',
  result: 'ok',
  address: '127.0.0.1',
  request_id: 'r',
});

describe('the audit trail', () => {
  it('[AUDIT-1] the audit trail stores every fact, and lists the newest first, page by page', async () => {
    const { tidemark, clock } = await newTidemark();
    for (const action of ['one', 'two', 'three']) {
      await tidemark.audit.record(fact(action));
      clock.advance(1_000);
    }
    const all = await tidemark.audit.list();
    expect(all.map(({ action }) => action)).toEqual(['three', 'two', 'one']);
    expect(all[2]).toEqual({
      ...fact('one'),
      ...{ count: 1, id: expect.any(String), at: '2023-11-14T22:13:20.000Z' },
      ...{ subject: {}, objects_changed: null, changes: [], are_changes_cut: false },
    });
    const [first] = await tidemark.audit.list({ limit: 1 });
    expect((await tidemark.audit.list({ after: first?.id ?? '', limit: 1 })).map(({ action }) => action)).toEqual([
      'two',
    ]);
    expect(await refusalOf(tidemark.audit.list({ limit: 0 }))).toBe('invalid_value');
  });

  it('[AUDIT-2] the audit trail stores facts of the same millisecond, and deletes only those older than the retention', async () => {
    const { tidemark, clock } = await newTidemark();
    await Promise.all(Array.from({ length: 50 }, (_, index) => tidemark.audit.record(fact(`old ${index}`))));
    clock.advance(10_000);
    await tidemark.audit.record(fact('new'));
    expect((await tidemark.audit.list()).length).toBe(51);
    expect(await tidemark.audit.trim(clock.nowMs(), 10_000)).toBe(0);
    expect(await tidemark.audit.trim(clock.nowMs(), 9_999)).toBe(50);
    expect((await tidemark.audit.list()).map(({ action }) => action)).toEqual(['new']);
  });

  it('[AUDIT-3] a trim of the audit trail deletes all old facts in steps, and can be stopped between them', async () => {
    const { tidemark, store, clock } = await newTidemark();
    const writes = Array.from({ length: 2_500 }, (_, index) => ({
      kind: 'audit' as const,
      key: [`${newestFirstKey(clock.nowMs())}-${index.toString(16).padStart(12, '0')}`],
      value: JSON.stringify({ ...fact('old'), atMs: clock.nowMs() }),
    }));
    await store.writeEntries({ writes, guards: [] });
    clock.advance(10_000);
    expect(await tidemark.audit.trim(clock.nowMs(), 1_000, async () => false)).toBe(1_000);
    expect(await tidemark.audit.trim(clock.nowMs(), 1_000)).toBe(1_500);
    expect(await tidemark.audit.list()).toEqual([]);
  });
});

describe('searching the audit trail', () => {
  it('[AUDIT-21] a search finds facts by person, action, subject and time, newest first and page by page', async () => {
    const { tidemark, clock } = await newTidemark();
    const start = clock.nowMs();
    const change = { object_id: '17', attribute: 'price', old: '1', new: '2' };
    await tidemark.audit.record({ ...fact('user.create'), subject: { user_id: 'anna' } });
    clock.advance(1_000);
    await tidemark.audit.record({ ...fact('user.delete'), actor: 'bob', subject: { user_id: 'anna' } });
    clock.advance(1_000);
    await tidemark.audit.record({ ...fact('objects.change'), subject: { source: 'Product' }, changes: [change] });
    const found = async (search: AuditSearch) =>
      (await tidemark.audit.search(search)).facts.map(({ action }) => action);
    expect(await found({})).toEqual(['objects.change', 'user.delete', 'user.create']);
    expect(await found({ actor: 'admin' })).toEqual(['objects.change', 'user.create']);
    expect(await found({ action: 'user.' })).toEqual(['user.delete', 'user.create']);
    expect(await found({ action: 'user' })).toEqual([]);
    expect(await found({ about: 'anna' })).toEqual(['user.delete', 'user.create']);
    expect(await found({ about: '17' })).toEqual(['objects.change']);
    expect(await found({ fromMs: start + 1_000 })).toEqual(['objects.change', 'user.delete']);
    expect(await found({ toMs: start + 1_000 })).toEqual(['user.create']);
    expect(await found({ fromMs: start + 1_000, toMs: start + 1_001 })).toEqual(['user.delete']);
    // Days before 1970 have negative times.
    expect(await found({ fromMs: -1, action: 'user.' })).toEqual(['user.delete', 'user.create']);
    expect(await found({ toMs: -1 })).toEqual([]);
    const { facts, next } = await tidemark.audit.search({ action: 'user.', limit: 1 });
    expect(facts.map(({ id }) => id)).toEqual([next]);
    expect(await found({ action: 'user.', after: next ?? '' })).toEqual(['user.create']);
  });

  it('[AUDIT-22] one search reads AUDIT_SCAN_MAX facts at most and says where the next one goes on', async () => {
    const { tidemark, store, clock } = await newTidemark();
    const writes = Array.from({ length: AUDIT_SCAN_MAX + 1 }, (_, index) => ({
      kind: 'audit' as const,
      key: [`${newestFirstKey(clock.nowMs())}-${index.toString(16).padStart(12, '0')}`],
      value: JSON.stringify({ ...fact(index === AUDIT_SCAN_MAX ? 'rare' : 'often'), atMs: clock.nowMs() }),
    }));
    await store.writeEntries({ writes, guards: [] });
    const first = await tidemark.audit.search({ action: 'rare' });
    expect(first).toEqual({ facts: [], next: writes[AUDIT_SCAN_MAX - 1]?.key[0] });
    const second = await tidemark.audit.search({ action: 'rare', after: first.next ?? '' });
    expect([second.facts.map(({ action }) => action), second.next]).toEqual([['rare'], null]);
  });
});

describe('facts caused by callers without a token', () => {
  const failed = (actor: string, address = '10.0.0.1'): AuditFact => ({ ...fact('login'), actor, address });

  it('[AUDIT-4] failed logins of one address and login are one fact with a count for ten minutes', async () => {
    const { tidemark, clock } = await newTidemark();
    await Promise.all(Array.from({ length: 20 }, () => tidemark.audit.recordSummed(failed('anna'))));
    await tidemark.audit.recordSummed(failed('anna', '10.0.0.2'));
    clock.advance(AUDIT_SUMMED_MS - 1);
    await tidemark.audit.recordSummed(failed('anna'));
    clock.advance(1);
    await tidemark.audit.recordSummed(failed('anna'));
    const listed = (await tidemark.audit.list()).map(({ at, address, count }) => [at, address, count]);
    expect(listed.sort()).toEqual([
      ['2023-11-14T22:13:20.000Z', '10.0.0.1', 21],
      ['2023-11-14T22:13:20.000Z', '10.0.0.2', 1],
      ['2023-11-14T22:23:20.000Z', '10.0.0.1', 1],
    ]);
  });

  it('[AUDIT-4] failed logins beyond AUDIT_GROUPS_MAX different ones are one fact without actor and address', async () => {
    const { tidemark } = await newTidemark();
    for (let index = 0; index < AUDIT_GROUPS_MAX + 50; index++) {
      await tidemark.audit.recordSummed(failed(`user ${index}`, `10.0.0.${index}`));
    }
    await tidemark.audit.recordSummed(failed('user 0', '10.0.0.0'));
    const facts = await tidemark.audit.list({ limit: 1_000 });
    expect(facts.length).toBe(AUDIT_GROUPS_MAX + 1);
    expect(facts.filter(({ count }) => count > 1).map(({ actor, address, count }) => [actor, address, count])).toEqual(
      expect.arrayContaining([
        [null, '*', 50],
        ['user 0', '10.0.0.0', 2],
      ]),
    );
  });
});
