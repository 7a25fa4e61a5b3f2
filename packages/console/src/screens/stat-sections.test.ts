import { expect, it } from 'vitest';
import type { Sample } from '../api/samples.ts';
import { busiestRoutes, statSections } from './stat-sections.ts';

function sample(name: string, value: number, labels: Readonly<Record<string, string>> = {}): Sample {
  return { name, labels, value };
}

function histogram(name: string, labels: Readonly<Record<string, string>>, slow: number): readonly Sample[] {
  return [
    sample(`${name}_bucket`, 90, { ...labels, le: '0.01' }),
    sample(`${name}_bucket`, 100 - slow, { ...labels, le: '0.1' }),
    sample(`${name}_bucket`, 100, { ...labels, le: '+Inf' }),
    sample(`${name}_count`, 100, labels),
  ];
}

it('[CONSOLE-74] the busiest routes come first, with how long they take and how many failed', () => {
  const [get, post] = [
    { method: 'GET', route: '/rc/v1/a' },
    { method: 'POST', route: '/sync/v1/b' },
  ];
  const samples = [
    ...histogram('tidemark_http_request_seconds', get, 0),
    ...histogram('tidemark_http_request_seconds', post, 5),
    sample('tidemark_http_request_seconds_count', 30, post),
    sample('tidemark_http_request_seconds_count', 900, { method: 'GET', route: '/console/*' }),
    sample('tidemark_http_requests_total', 2, { ...post, status: '503' }),
    sample('tidemark_http_requests_total', 9, { ...post, status: '404' }),
  ];
  expect(busiestRoutes(samples)).toEqual([
    { route: 'POST /sync/v1/b', requests: 130, failed: 2, median: '≤ 10 ms', slow: 'very slow' },
    { route: 'GET /rc/v1/a', requests: 100, failed: 0, median: '≤ 10 ms', slow: '≤ 100 ms' },
  ]);
});

it('[CONSOLE-74] sections show what matters first, and none that has nothing to show', () => {
  const samples = [
    ...histogram('tidemark_write_seconds', {}, 0),
    sample('tidemark_ping_attempts_total', 3, { result: 'not_reached', service: 'apns' }),
    sample('tidemark_ping_attempts_total', 4, { result: 'not_reached', service: 'fcm' }),
  ];
  const names = ['clients', 'http:POST:/sync/v1/pull', 'pings:android:delivered', 'sources:query:Price'];
  expect(statSections(samples, names)).toEqual([
    {
      ...{ title: 'Sync', about: 'Devices that pull and upload.', facts: [] },
      charts: [{ metric: 'http:POST:/sync/v1/pull', title: 'Pulls' }],
    },
    {
      ...{ title: 'Pushes', about: 'Changes from backends.', charts: [] },
      facts: [
        { title: 'p50 until it is durable', value: '≤ 10 ms' },
        { title: 'p99 until it is durable', value: '≤ 100 ms' },
      ],
    },
    {
      ...{ title: 'Pings', about: 'Messages through push services.' },
      facts: [{ title: 'not reached', value: '7' }],
      charts: [{ metric: 'pings:android:delivered', title: 'Pings android, delivered' }],
    },
    {
      ...{ title: 'Backend', about: 'Calls to your backend.', facts: [] },
      charts: [{ metric: 'sources:query:Price', title: 'Refreshes of Price' }],
    },
  ]);
});
