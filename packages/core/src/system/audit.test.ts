import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { AuditFact } from './audit.ts';

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
  it('[AUDIT-1] keeps every fact and tells the newest first, page by page', async () => {
    const { tidemark, clock } = await newTidemark();
    for (const action of ['one', 'two', 'three']) {
      await tidemark.audit.record(fact(action));
      clock.advance(1_000);
    }
    const all = await tidemark.audit.list();
    expect(all.map(({ action }) => action)).toEqual(['three', 'two', 'one']);
    expect(all[2]).toEqual({ ...fact('one'), id: expect.any(String), at: '2023-11-14T22:13:20.000Z' });
    const [first] = await tidemark.audit.list({ limit: 1 });
    expect((await tidemark.audit.list({ after: first?.id ?? '', limit: 1 })).map(({ action }) => action)).toEqual([
      'two',
    ]);
    expect(await refusalOf(tidemark.audit.list({ limit: 0 }))).toBe('invalid_value');
  });

  it('[AUDIT-2] keeps facts of the same moment apart, and forgets only those older than the retention', async () => {
    const { tidemark, clock } = await newTidemark();
    await Promise.all(Array.from({ length: 50 }, (_, index) => tidemark.audit.record(fact(`old ${index}`))));
    clock.advance(10_000);
    await tidemark.audit.record(fact('new'));
    expect((await tidemark.audit.list()).length).toBe(51);
    expect(await tidemark.audit.trim(clock.nowMs(), 10_000)).toBe(0);
    expect(await tidemark.audit.trim(clock.nowMs(), 9_999)).toBe(50);
    expect((await tidemark.audit.list()).map(({ action }) => action)).toEqual(['new']);
  });
});
