import { describe, expect, it } from 'vitest';
import { SOURCES_LABELLED_MAX } from '../limits.ts';
import { Metrics } from './metrics.ts';

/** Metrics after one of everything has happened. */
async function usedMetrics(): Promise<Metrics> {
  const metrics = new Metrics('1.2.3');
  metrics.requests.tallyOf({ method: 'GET', route: '/a', status: '2xx' }).observe(0.01);
  metrics.requests.countOf({ method: 'GET', route: '/a', status: '200' }).value++;
  metrics.devices.pageSent('Order', { entries: 0, bytes: 50, reason: null });
  metrics.devices.pageSent('Order', { entries: 3, bytes: 500, reason: null });
  metrics.devices.pageSent('Or"der\\', { entries: 0, bytes: 50, reason: 'epoch' });
  metrics.backend.pushed('Order', 'push_objects', 2);
  metrics.devices.uploaded('Order', 'applied');
  metrics.backend.refreshed('Order', 'backend_timeout', 3);
  metrics.devices.pingAttempted('apns', 'accepted');
  metrics.devices.delivered('Order', 1);
  metrics.store.written(0.002);
  metrics.backend.called('query', 'failed', 2);
  metrics.devices.mismatched('Order');
  metrics.backend.misfitsWritten('Order', 2);
  metrics.watch.activityStreams(() => 3);
  metrics.watch.seen(async () => [['1h', 12]]);
  metrics.watch.staleness(() => new Map([['Order', 7.5]]));
  metrics.watch.listeners(() => 1);
  metrics.watch.queues(async () => [{ queue: 'q', depth: 4, lagS: 1.5, dead: 2 }]);
  metrics.watch.breakers(async () => new Map([['query', 2]]));
  return metrics;
}

describe('/metrics', () => {
  it('[METRICS-1] every metric has one HELP, one TYPE and a conventional name, and no series occurs twice', async () => {
    const lines = (await (await usedMetrics()).text()).split('\n').filter((line) => line !== '');
    const types = new Map<string, string>();
    const helped: string[] = [];
    const series: string[] = [];
    for (const line of lines) {
      const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) ([a-z_]\w*) (.+)$/.exec(line) ?? [];
      if (kind === 'HELP') helped.push(name);
      else if (kind === 'TYPE') types.set(name, rest);
      else {
        const [, sample, labels = '', value] =
          /^([a-z_]\w*)(\{(?:\w+="(?:[^"\\]|\\.)*",?)*\})? (-?[\d.e+-]+|NaN|Nan|[+-]Inf)$/.exec(line) ?? [];
        expect({ line, value }).toEqual({ line, value: expect.any(String) });
        series.push(`${sample}${labels}`);
        const family = [sample ?? '', sample?.replace(/_(?:bucket|sum|count)$/, '') ?? ''].find((one) =>
          types.has(one),
        );
        expect({ line, family }).toEqual({ line, family: expect.any(String) });
      }
    }
    expect(new Set(helped).size).toBe(helped.length);
    expect(helped).toEqual([...types.keys()]);
    expect(new Set(series).size).toBe(series.length);
    for (const [name, type] of types) {
      if (!name.startsWith('tidemark_')) continue;
      expect({ name, isTotal: name.endsWith('_total') }).toEqual({ name, isTotal: type === 'counter' });
      expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb|minutes)(?:_|$)/);
    }
  });

  it('[METRICS-2] what is counted appears with its labels', async () => {
    const text = await (await usedMetrics()).text();
    for (const line of [
      `tidemark_build_info{version="1.2.3",node="${process.version}"} 1`,
      'tidemark_http_requests_total{method="GET",route="/a",status="200"} 1',
      'tidemark_pull_pages_total{source="Order",kind="no_news"} 1',
      'tidemark_pull_pages_total{source="Order",kind="changes"} 1',
      'tidemark_pull_pages_total{source="Or\\"der\\\\",kind="start_over_epoch"} 1',
      'tidemark_delivered_objects_total{source="Order"} 3',
      'tidemark_delivered_bytes_total{source="Order"} 500',
      'tidemark_pushes_total{source="Order",operation="push_objects"} 1',
      'tidemark_pushed_objects_total{source="Order"} 2',
      'tidemark_uploads_total{source="Order",status="applied"} 1',
      'tidemark_refreshes_total{source="Order",result="backend_timeout"} 1',
      'tidemark_ping_attempts_total{service="apns",result="accepted"} 1',
      'tidemark_write_seconds_bucket{le="0.0025"} 1',
      'tidemark_backend_call_seconds_count{call="query",outcome="failed"} 1',
      'tidemark_checksum_mismatches_total{source="Order"} 1',
      'tidemark_schema_misfits_total{source="Order"} 2',
      'tidemark_activity_streams 3',
      'tidemark_devices_seen{within="1h"} 12',
      'tidemark_staleness_seconds{source="Order"} 7.5',
      'tidemark_delivery_seconds_bucket{le="1",source="Order"} 1',
      'tidemark_queue_jobs{queue="q"} 4',
      'tidemark_queue_lag_seconds{queue="q"} 1.5',
      'tidemark_queue_dead_jobs{queue="q"} 2',
      'tidemark_backend_breaker_state{call="query"} 2',
    ])
      expect(text.split('\n')).toContain(line);
  });

  it('[METRICS-3] the staleness of sources beyond the limit is that of the worst of them', async () => {
    const metrics = new Metrics();
    const sources = Array.from({ length: SOURCES_LABELLED_MAX + 3 }, (_, index): [string, number] => [
      `S${index}`,
      index,
    ]);
    metrics.watch.staleness(() => new Map(sources.with(-2, ['worst', 500])));
    const lines = (await metrics.text()).split('\n').filter((line) => line.startsWith('tidemark_staleness_seconds{'));
    expect(lines).toHaveLength(SOURCES_LABELLED_MAX + 1);
    expect(lines).toContain('tidemark_staleness_seconds{source="other"} 500');
  });

  it('[METRICS-3] sources beyond the limit are summed up as other', async () => {
    const metrics = new Metrics();
    for (let index = 0; index < SOURCES_LABELLED_MAX + 3; index++)
      metrics.backend.pushed(`S${index}`, 'push_objects', 1);
    metrics.backend.pushed('S0', 'push_objects', 1);
    const lines = (await metrics.text())
      .split('\n')
      .filter((line) => line.startsWith('tidemark_pushed_objects_total{'));
    expect(lines).toHaveLength(SOURCES_LABELLED_MAX + 1);
    expect(lines).toContain('tidemark_pushed_objects_total{source="S0"} 2');
    expect(lines).toContain('tidemark_pushed_objects_total{source="other"} 3');
  });
});
