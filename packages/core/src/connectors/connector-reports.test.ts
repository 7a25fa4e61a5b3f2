import { CONNECTORS_MAX, type ConnectorReport } from '@tidemark/protocol';
import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { connectorFaults } from './connector-faults.ts';

const REPORT: ConnectorReport = {
  ...{ kind: 'postgres', state: 'streaming', runs_in: 'process', server: 'here', fresh_at: null, lag_ms: 40 },
  ...{ position: '0/1', rows_total: 1, rows_per_s: 1, slot: null, tables: [], error: null, healed: null },
  problems: { count: 0, samples: [] },
  waiting: { count: 0, samples: [] },
};
const SLOT = {
  ...{ name: 'tidemark', active: true, wal_status: 'reserved', invalidation_reason: null },
  ...{ retained_bytes: 1_000, safe_bytes: null, failover: false },
};

describe('the last report', () => {
  it('[PG-205] a report that does not come any more counts as lag, and is a fault after a minute', async () => {
    const { tidemark, clock } = await newTidemark();
    await tidemark.connectors.report('field', REPORT);
    clock.advance(15_000);
    expect(await tidemark.connectors.get('field')).toMatchObject({ lag_ms: 40, faults: [] });
    clock.advance(5_000);
    expect(await tidemark.connectors.get('field')).toMatchObject({ lag_ms: 20_040, faults: [] });
    clock.advance(34 * 3_600_000);
    expect(await tidemark.connectors.list()).toMatchObject([
      {
        name: 'field',
        state: 'streaming',
        lag_ms: 34 * 3_600_000 + 20_040,
        faults: [
          { code: 'silent', message: 'it has not reported for 34 h; does it run?' },
          { code: 'behind', message: 'it is 34 h behind' },
        ],
      },
    ]);
  });

  it('[PG-205] a connector that cannot measure its lag is behind since it was known to be fresh, also before it began again', async () => {
    const { tidemark, clock } = await newTidemark();
    const fresh_at = new Date(clock.nowMs()).toISOString();
    await tidemark.connectors.report('field', { ...REPORT, fresh_at });
    clock.advance(300_000);
    await tidemark.connectors.report('field', { ...REPORT, state: 'connecting', lag_ms: null });
    expect(await tidemark.connectors.get('field')).toMatchObject({ fresh_at, lag_ms: 300_000 });
  });

  it('[PG-205] a connector that is configured and never reports is behind since the server began to wait for it', async () => {
    const { tidemark, clock } = await newTidemark();
    await tidemark.connectors.expect('field');
    clock.advance(61_000);
    await tidemark.connectors.expect('field');
    const [connector] = await tidemark.connectors.list();
    expect(connector).toMatchObject({ state: 'starting', lag_ms: 61_000 });
    expect(connector?.faults.map(({ code }) => code)).toEqual(['silent', 'behind']);
  });

  it('[PG-206] a connector that is gone can be forgotten, so that its silence is no fault any more', async () => {
    const { tidemark } = await newTidemark();
    await tidemark.connectors.report('field', REPORT);
    expect(await tidemark.connectors.forget('field')).toEqual({ deleted: 'field' });
    expect(await tidemark.connectors.list()).toEqual([]);
    expect(await refusalOf(tidemark.connectors.forget('field'))).toBe('connector_not_found');
  });

  it('[PG-206] as many connectors as the limit allows are kept, and one more is refused', async () => {
    const { tidemark } = await newTidemark();
    for (let number = 0; number < CONNECTORS_MAX; number++) await tidemark.connectors.report(`c${number}`, REPORT);
    expect(await refusalOf(tidemark.connectors.report('more', REPORT))).toBe('limit_exceeded');
    expect(await tidemark.connectors.report('c0', REPORT)).toMatchObject({ name: 'c0' });
    const report = { ...REPORT, fresh_at: 'yesterday' };
    expect(await refusalOf(tidemark.connectors.report('c0', report))).toBe('invalid_value');
  });
});

describe('faults', () => {
  const codesOf = (changes: Partial<Parameters<typeof connectorFaults>[0]>) =>
    connectorFaults({ ...REPORT, lag_ms: 0, ageMs: 0, ...changes }).map(({ code }) => code);

  it('[PG-207] a lag of more than 60 s is a fault, and one of 60 s is none', () => {
    expect(codesOf({ lag_ms: 60_000 })).toEqual([]);
    expect(codesOf({ lag_ms: 60_001 })).toEqual(['behind']);
    const table = { table: 'public.orders', source: 'Order', rows: 1, estimate: 4, percent: 25, rows_per_s: 1 };
    const tables = [{ ...table, phase: 'copying' as const }];
    expect(connectorFaults({ ...REPORT, lag_ms: 75_000, ageMs: 0, tables })).toEqual([
      { code: 'behind', message: 'it is 75 s behind: the table public.orders is not ready: copying (25 %)' },
    ]);
  });

  it('[PG-207] a slot is in danger when less than a fifth of what the database may keep is left, and lost when Postgres says so', () => {
    expect(codesOf({ slot: SLOT })).toEqual([]);
    expect(codesOf({ slot: { ...SLOT, retained_bytes: 800, safe_bytes: 200 } })).toEqual([]);
    expect(codesOf({ slot: { ...SLOT, retained_bytes: 801, safe_bytes: 199 } })).toEqual(['slot_in_danger']);
    expect(codesOf({ slot: { ...SLOT, wal_status: 'unreserved' } })).toEqual(['slot_in_danger']);
    expect(codesOf({ slot: { ...SLOT, wal_status: 'lost' } })).toEqual(['slot_lost']);
    expect(codesOf({ slot: { ...SLOT, invalidation_reason: 'wal_removed' } })).toEqual(['slot_lost']);
  });

  it('[PG-207] a connector that is not connected, and rows that cannot be stored, are faults at once', () => {
    const error = { at: '2030-01-31T12:00:00.000Z', message: 'connect ECONNREFUSED' };
    expect(connectorFaults({ ...REPORT, lag_ms: 0, ageMs: 0, state: 'waiting', error })).toEqual([
      { code: 'not_connected', message: 'it is not connected, and tries again: connect ECONNREFUSED' },
    ]);
    expect(codesOf({ problems: { count: 1, samples: [] } })).toEqual(['rows_refused']);
  });
});
