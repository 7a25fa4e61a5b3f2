import { quantileOf, type Sample, sumOfSamples } from '../api/samples.ts';
import { bytesText } from '../components/bytes-text.ts';
import { durationOf } from '../components/duration.ts';

/** A number that is shown above the charts of a section. */
export interface StatFact {
  readonly title: string;
  readonly value: string;
}

export interface StatSection {
  readonly title: string;
  readonly about: string;
  readonly facts: readonly StatFact[];
  readonly charts: readonly StatChart[];
}

export interface StatChart {
  readonly metric: string;
  readonly title: string;
}

/** A route with what was measured of it since the server started. */
export interface RouteRow {
  readonly route: string;
  readonly requests: number;
  readonly failed: number;
  readonly median: string;
  readonly slow: string;
}

const ROUTES_SHOWN = 8;
const CHARTS_PER_SECTION = 4;
const REQUESTS = 'tidemark_http_request_seconds';
const SERVER_ERROR = 500;
/** Not the files of the console, nor health and metrics. */
const API_ROUTE = /^\/(?:rc|app|sync)\//;

/** Charts of a section: metrics by their exact name, or by the beginning of it, which stands before the name of a source. */
const CHARTS: Readonly<Record<string, readonly (readonly [name: string, title: string])[]>> = {
  Sync: [
    ['http:POST:/sync/v1/pull', 'Pulls'],
    ['http:POST:/sync/v1/push', 'Uploads'],
    ['http:POST:/sync/v1/login', 'Sign-ins of devices'],
  ],
  Pushes: [
    ['http:POST:/app/v1/:source_name/push_objects', 'Pushed objects'],
    ['http:POST:/app/v1/:source_name/push_deletes', 'Pushed deletions'],
  ],
  Pings: [['pings:', 'Pings']],
  Backend: [['sources:query:', 'Refreshes of']],
};

/** The busiest routes, by what this server has measured since its start. */
export function busiestRoutes(samples: readonly Sample[]): readonly RouteRow[] {
  const counts = new Map<string, { method: string; route: string; requests: number }>();
  for (const { name, labels, value } of samples) {
    const { method = '', route = '' } = labels;
    if (name !== `${REQUESTS}_count` || !API_ROUTE.test(route)) continue;
    const key = `${method} ${route}`;
    counts.set(key, { method, route, requests: (counts.get(key)?.requests ?? 0) + value });
  }
  const busiest = [...counts.values()].sort((one, other) => other.requests - one.requests).slice(0, ROUTES_SHOWN);
  return busiest.map(({ method, route, requests }) => {
    const of = (quantile: number) => latency(quantileOf(samples, REQUESTS, { quantile, method, route }));
    const failed = failuresOf(samples, method, route);
    return { route: `${method} ${route}`, requests, failed, median: of(0.5), slow: of(0.99) };
  });
}

function failuresOf(samples: readonly Sample[], method: string, route: string): number {
  return samples
    .filter(({ name, labels }) => name === 'tidemark_http_requests_total' && labels.method === method)
    .filter(({ labels }) => labels.route === route && Number(labels.status) >= SERVER_ERROR)
    .reduce((sum, { value }) => sum + value, 0);
}

/** What matters first, by section. Charts are those of metrics that exist. */
export function statSections(samples: readonly Sample[], names: readonly string[]): readonly StatSection[] {
  const section = (title: string, about: string, ...facts: readonly (StatFact | null)[]): StatSection => ({
    ...{ title, about, facts: facts.filter((fact) => fact !== null), charts: chartsOf(title, names) },
  });
  return [
    section(
      'Sync',
      'Devices that pull and upload.',
      countFact('Devices connected', sumOfSamples(samples, 'tidemark_event_streams')),
      ...timeFacts(samples, 'tidemark_delivery_seconds', 'until a device has a change'),
    ),
    section('Pushes', 'Changes from backends.', ...timeFacts(samples, 'tidemark_write_seconds', 'until it is durable')),
    section('Pings', 'Messages through push services.', ...pingFacts(samples)),
    section('Backend', 'Calls to your backend.', ...timeFacts(samples, 'tidemark_backend_call_seconds', 'of a call')),
    section(
      'Store',
      'Where everything is kept.',
      ...[sumOfSamples(samples, 'tidemark_store_bytes')].map((bytes) =>
        bytes === undefined ? null : { title: 'Size', value: bytesText(bytes) },
      ),
      ...timeFacts(samples, 'tidemark_store_flush_seconds', 'of a flush to the disk'),
    ),
  ].filter(({ facts, charts }) => facts.length > 0 || charts.length > 0);
}

function chartsOf(section: string, names: readonly string[]): readonly StatChart[] {
  const charts = (CHARTS[section] ?? []).flatMap(([wanted, title]) =>
    wanted.endsWith(':')
      ? names
          .filter((name) => name.startsWith(wanted))
          .map((metric) => ({ metric, title: `${title} ${metric.slice(wanted.length).replace(':', ', ')}` }))
      : names.includes(wanted)
        ? [{ metric: wanted, title }]
        : [],
  );
  return charts.slice(0, CHARTS_PER_SECTION);
}

function countFact(title: string, value: number | undefined): StatFact | null {
  return value === undefined ? null : { title, value: value.toLocaleString('en') };
}

function timeFacts(samples: readonly Sample[], name: string, what: string): readonly (StatFact | null)[] {
  return [0.5, 0.99].map((quantile) => {
    const seconds = quantileOf(samples, name, { quantile });
    return seconds === undefined ? null : { title: `p${quantile * 100} ${what}`, value: latency(seconds) };
  });
}

function pingFacts(samples: readonly Sample[]): readonly StatFact[] {
  const results = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    if (name !== 'tidemark_ping_attempts_total') continue;
    const { result = '' } = labels;
    results.set(result, (results.get(result) ?? 0) + value);
  }
  return [...results].map(([title, value]) => ({
    title: title.replaceAll('_', ' '),
    value: value.toLocaleString('en'),
  }));
}

/** The bound that so many kept. */
function latency(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  return Number.isFinite(seconds) ? `≤ ${durationOf(seconds * 1_000)}` : 'very slow';
}
