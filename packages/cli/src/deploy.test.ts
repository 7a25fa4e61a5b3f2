import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Metrics } from '@tidemark/server';
import { loadConfig } from '@tidemark/server/config/load-config';
import { SETTINGS } from '@tidemark/server/config/settings';
import { temporaryFolder } from '@tidemark/testing';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { Cli } from './cli.ts';
import { buildProgram } from './program.ts';
import { Terminal } from './terminal.ts';

const folder = new URL('../../../deploy/', import.meta.url);
const read = (name: string) => readFileSync(fileURLToPath(new URL(name, folder)), 'utf8');
const filesIn = (name: string) => readdirSync(fileURLToPath(new URL(name, folder)));

const SYSTEMD_ANALYZE = 'systemd-analyze';

/** Variables that are not our settings. */
const FOREIGN = new Set(['NODE_ENV']);

/** A setting comes from its variable or, if it is a secret, from a file named by another one. */
function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  const known = new Map(
    SETTINGS.flatMap(
      ({ env: name, secret }) =>
        [[name, ''], ...(secret === true ? [[`${name}_FILE`, 'file']] : [])] as [string, string][],
    ),
  );
  const unknown = Object.keys(env).filter((name) => !known.has(name) && !FOREIGN.has(name));
  const values = Object.fromEntries(
    Object.entries(env).filter(([name]) => known.get(name) === '' && name !== 'TIDEMARK_PORT'),
  );
  try {
    loadConfig({ env: values, userId: 1_000 });
    return unknown;
  } catch (error) {
    return [...unknown, (error as Error).message];
  }
}

describe('units', () => {
  const units = filesIn('systemd/');

  it('[DEPLOY-1] unit files have the names that the documentation uses', () => {
    expect(units.sort()).toEqual([
      ...['tidemark-backup.service', 'tidemark-backup.timer', 'tidemark-on-valkey@.service', 'tidemark.service'],
    ]);
  });

  it.each(units)(
    '[DEPLOY-1] %s has sections and settings, and refers only to existing commands and files',
    async (name) => {
      const lines = read(`systemd/${name}`)
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'));
      const odd = lines.filter((line) => !/^\[(?:Unit|Service|Timer|Install)\]$|^[A-Z][A-Za-z]*=.+$/.test(line));
      expect(odd).toEqual([]);
      const env = lines.flatMap((line) => /^Environment=([A-Z_]+)=(.*)$/.exec(line)?.slice(1) ?? []);
      const pairs = Object.fromEntries(
        env.flatMap((part, index) => (index % 2 === 0 ? [[part, env[index + 1] ?? '']] : [])),
      );
      expect(problemsOf(pairs)).toEqual([]);
      for (const line of lines) {
        const [, credential] = /%d\/(\w+)/.exec(line) ?? [];
        if (credential !== undefined)
          expect(lines).toContainEqual(expect.stringContaining(`LoadCredential=${credential}:`));
        const [, words] = /\/cli\/main\.js ([^"']*)/.exec(line) ?? [];
        if (words !== undefined) expect(await commandProblem(words)).toBeNull();
      }
    },
  );
});

it('[DEPLOY-21] systemd-analyze, where there is one, finds nothing wrong with the units', async () => {
  const { path: folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  const files = filesIn('systemd/').map((name) => {
    // The program that a unit starts must exist where it is verified.
    writeFileSync(join(folder, name), read(`systemd/${name}`).replaceAll('/usr/bin/node', process.execPath));
    return join(folder, name);
  });
  const { error, stderr } = spawnSync(SYSTEMD_ANALYZE, ['verify', ...files], { encoding: 'utf8' });
  // Words about other units of the machine are none of ours.
  const about = (stderr ?? '').split('\n').filter((line) => line.includes('tidemark'));
  if (error === undefined) expect(about).toEqual([]);
  else expect(error).toMatchObject({ code: 'ENOENT' });
});

/** Returns what is wrong with the command and flags of a command line. */
async function commandProblem(words: string): Promise<string | null> {
  const [name = '', ...rest] = words.trim().split(/\s+/);
  const program = await buildProgram(new Cli(new Terminal(process, {}), {}, '.'));
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) return `there is no command ${name}`;
  const unknown = rest.filter((word) => word.startsWith('--') && !command.options.some(({ long }) => long === word));
  return unknown.length === 0 ? null : `${name} has no ${unknown.join(', ')}`;
}

interface Service {
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[];
}

describe('the container image', () => {
  const ignored = new Set(read('../.dockerignore').split('\n'));
  const image = read('Dockerfile');

  it('[DEPLOY-4] the build context contains no history, data, secrets or build outputs of this machine', () => {
    for (const pattern of ['.git', '**/node_modules', '**/data', '**/secrets', '**/secrets.json', '**/.env*']) {
      expect(ignored).toContain(pattern);
    }
  });

  it('[DEPLOY-4] the image contains the production build and runs as an ordinary user', () => {
    const [, run = ''] = image.split(/^FROM .*$/m).slice(1);
    const copied = [...run.matchAll(/^COPY --from=build (.*) \S+$/gm)].flatMap(([, paths = '']) => paths.split(' '));
    expect(copied.map((path) => path.replace('/opt/tidemark/', ''))).toEqual([
      ...['package.json', 'LICENSE', 'node_modules', 'packages'],
    ]);
    expect(run).not.toMatch(/^COPY (?!--from=build)/m);
    expect(run).toMatch(/^USER node$/m);
  });

  it('[DEPLOY-4] secrets of the compose file are readable by the user that needs them', () => {
    const text = read('compose.yaml');
    const { services, secrets } = parse(text) as {
      readonly services: { readonly tidemark: { readonly user: string } };
      readonly secrets: Readonly<Record<string, { readonly file: string }>>;
    };
    const [uid, gid] = services.tidemark.user.split(':');
    for (const { file } of Object.values(secrets)) {
      const made = `install -m 0400 -o ${uid} -g ${gid} /dev/stdin ${file.replace('./', 'deploy/')}`;
      expect(text).toContain(made);
    }
  });
});

it('[DEPLOY-2] the compose file refers only to existing services, secrets, settings and ports', () => {
  const file = parse(read('compose.yaml')) as {
    readonly services: Readonly<Record<string, Service>>;
    readonly secrets: Readonly<Record<string, unknown>>;
    readonly volumes: Readonly<Record<string, unknown>>;
  };
  const { tidemark, valkey } = file.services;
  const env = tidemark?.environment ?? {};
  expect(problemsOf(env)).toEqual([]);
  expect(tidemark?.ports).toEqual([`127.0.0.1:${env.TIDEMARK_PORT}:${env.TIDEMARK_PORT}`]);
  const named = Object.values(env).flatMap((value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.slice(1) ?? []);
  expect([...named].sort()).toEqual([...(tidemark?.secrets ?? [])].sort());
  expect(Object.keys(file.secrets).sort()).toEqual([...new Set([...named, ...(valkey?.secrets ?? [])])].sort());
  for (const { depends_on = [] } of Object.values(file.services)) {
    for (const name of depends_on) expect(Object.keys(file.services)).toContain(name);
  }
  expect(new URL(env.TIDEMARK_STORE ?? '').hostname).toBe('valkey');
  const image = read('Dockerfile');
  const [, own] = /^ENV (.*)$/m.exec(image) ?? [];
  const variables = Object.fromEntries((own ?? '').split(' ').map((pair) => pair.split('=') as [string, string]));
  expect(problemsOf(variables)).toEqual([]);
  expect(image).toContain(`EXPOSE ${env.TIDEMARK_PORT}`);
});

interface Manifest {
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Pod {
  readonly containers: readonly {
    readonly env: readonly { readonly name: string; readonly value: string }[];
    readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
    readonly readinessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
    readonly livenessProbe: { readonly httpGet: { readonly path: string; readonly port: string } };
    readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  }[];
  readonly volumes: readonly { readonly name: string }[];
  readonly terminationGracePeriodSeconds: number;
}

it('[DEPLOY-22] the Kubernetes manifests name only settings, ports and volumes that exist, and give a server time to stop', () => {
  const manifests = parseAllDocuments(read('kubernetes/tidemark.yaml')).map((one) => one.toJS() as Manifest);
  expect(manifests.map(({ kind }) => kind)).toEqual(['Service', 'StatefulSet', 'Ingress']);
  const { template, volumeClaimTemplates, replicas } = (manifests[1]?.spec ?? {}) as {
    readonly replicas: number;
    readonly template: { readonly spec: Pod };
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[];
  };
  const pod = template.spec;
  const [server] = pod.containers;
  if (server === undefined) throw new Error('there is no container');
  const env = Object.fromEntries(server.env.map(({ name, value }) => [name, value]));
  expect(problemsOf(env)).toEqual([]);
  expect(replicas).toBe(1);
  expect(server.ports).toEqual([{ name: 'http', containerPort: Number(env.TIDEMARK_PORT) }]);
  expect([server.readinessProbe.httpGet, server.livenessProbe.httpGet]).toEqual([
    { path: '/readyz', port: 'http' },
    { path: '/healthz', port: 'http' },
  ]);
  const volumes = [
    ...pod.volumes.map(({ name }) => name),
    ...volumeClaimTemplates.map(({ metadata }) => metadata.name),
  ];
  expect(server.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.sort());
  const isMounted = (file = '') => server.volumeMounts.some(({ mountPath }) => file.startsWith(`${mountPath}/`));
  expect([env.TIDEMARK_DATA, env.TIDEMARK_ADMIN_PASSWORD_FILE].map(isMounted)).toEqual([true, true]);
  const { config } = loadConfig({
    env: { TIDEMARK_SHUTDOWN_DRAIN_MS: env.TIDEMARK_SHUTDOWN_DRAIN_MS ?? '' },
    userId: 1_000,
  });
  const stopMs = config.shutdownDrainMs + 2 * config.shutdownGraceMs;
  expect(pod.terminationGracePeriodSeconds * 1_000).toBeGreaterThan(stopMs);
});

describe('monitoring', () => {
  let exported: Map<string, Set<string>>;

  beforeAll(async () => {
    // What a server sends as /metrics after a request.
    const metrics = new Metrics();
    metrics.watch.listeners(() => 0);
    metrics.watch.files(async () => ({ files: 1, bytes: 1, missing: 1, oldestMissingS: 1 }));
    metrics.requests.tallyOf({ method: 'POST', route: '/sync/v1/pull', status: '2xx' }).observe(0.01);
    metrics.requests.countOf({ method: 'POST', route: '/sync/v1/pull', status: '200' });
    metrics.devices.pageSent('Order', { entries: 1, bytes: 10, reason: 'trimmed' });
    metrics.backend.pushed('Order', 'push_objects', 1);
    metrics.devices.uploaded('Order', 'applied');
    metrics.backend.refreshed('Order', null, 1);
    metrics.devices.pingAttempted('apns', 'accepted');
    metrics.devices.delivered('Order', 1);
    metrics.store.written(0.002);
    metrics.store.flushed(0.001);
    // A server has one of the two, by its engine.
    for (const name of ['tidemark_store_bytes', 'tidemark_valkey_memory_bytes']) {
      metrics.watch.installation(name, 'Size of the store', async () => 1);
    }
    metrics.backend.called('query', 'failed', 2);
    metrics.devices.mismatched('Order');
    metrics.watch.activityStreams(() => 3);
    metrics.watch.seen(async () => [['1h', 12]]);
    metrics.watch.staleness(() => new Map([['Order', 7.5]]));
    metrics.watch.queues(async () => [{ queue: 'q', depth: 0, lagS: 0, dead: 0 }]);
    metrics.watch.breakers(async () => new Map([['query', 0]]));
    const healthy = { lagS: 0, connected: 1, faults: 0, slotInDanger: 0, rowsPerS: 0, refusedRows: 0 };
    const log = { slotState: 0, positionBytes: 1_000, retainedBytes: 0, safeBytes: 1_000 };
    metrics.watch.connectors(async () => [{ name: 'field', ...healthy, ...log }]);
    exported = seriesIn(await metrics.text());
  });

  const alerts = () => (parse(read('prometheus/alerts.yaml')) as Alerts).groups.flatMap(({ rules }) => rules);
  const dashboard = () => JSON.parse(read('grafana/tidemark.json')) as Dashboard;

  it('[DEPLOY-3] every alert uses exported metrics and labels, and says what to do', () => {
    expect(alerts().length).toBeGreaterThan(5);
    for (const { alert, expr, labels, annotations } of alerts()) {
      expect({ alert, problems: promProblems(expr, exported) }).toEqual({ alert, problems: [] });
      expect([labels.severity, typeof annotations.summary, typeof annotations.description]).toEqual([
        expect.stringMatching(/^(?:page|ticket)$/),
        ...['string', 'string'],
      ]);
    }
  });

  it('[DEPLOY-3] every panel uses exported metrics and labels', () => {
    const { panels, templating } = dashboard();
    const asked = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    expect(asked.length).toBeGreaterThan(10);
    for (const expr of asked) expect({ expr, problems: promProblems(expr, exported) }).toEqual({ expr, problems: [] });
    const names = templating.list.map(({ name }) => `$${name}`);
    for (const expr of asked) {
      const variables = [...expr.matchAll(/\$(?!__)\w+/g)].map(([variable]) => variable);
      for (const variable of variables) expect(names).toContain(variable);
    }
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  it('[DEPLOY-3] a metric or label that is not exported is detected', () => {
    expect(promProblems('rate(tidemark_gone_total[5m])', exported)).toEqual(['tidemark_gone_total is not exported']);
    expect(promProblems('tidemark_event_streams{colour="red"}', exported)).toEqual([
      'tidemark_event_streams has no colour',
    ]);
    expect(promProblems('sum by (colour) (tidemark_event_streams)', exported)).toEqual([
      'nothing asked for has colour',
    ]);
  });

  it('[DEPLOY-3] the scrape configuration matches the served metrics', () => {
    const { scrape_configs: jobs, rule_files } = parse(read('prometheus/prometheus.yaml')) as {
      readonly scrape_configs: readonly { readonly job_name: string; readonly metrics_path: string }[];
      readonly rule_files: readonly string[];
    };
    expect(jobs.map(({ job_name, metrics_path }) => [job_name, metrics_path])).toEqual([['tidemark', '/metrics']]);
    for (const file of rule_files) expect(filesIn('prometheus/')).toContain(file);
  });
});

interface Alerts {
  readonly groups: readonly { readonly rules: readonly Alert[] }[];
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity?: string };
  readonly annotations: { readonly summary?: string; readonly description?: string };
}

interface Dashboard {
  readonly panels: readonly { readonly id: number; readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
}

/** Labels that Prometheus adds. */
const ADDED = ['job', 'instance'];
const FUNCTIONS = new Set(['sum', 'rate', 'increase', 'topk', 'histogram_quantile', 'time', 'and']);

/** Returns the scraped series with their labels; metrics without samples are known by their type. */
function seriesIn(text: string): Map<string, Set<string>> {
  const series = new Map<string, Set<string>>([['up', new Set(ADDED)]]);
  for (const line of text.split('\n')) {
    const [, name = '', labels = ''] = /^([a-z_]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === '') continue;
    const known = series.get(name) ?? new Set(ADDED);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    series.set(name, known);
  }
  return series;
}

/**
 * Returns names in a query that are not exported. It understands names, labels in braces and groupings, which is all
 * our queries use.
 */
function promProblems(expr: string, series: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const problems: string[] = [];
  const plain = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, '');
  const asked = new Set<string>();
  const rest = plain.replaceAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g, '');
  for (const [, name = '', labels = ''] of rest.matchAll(/\b([a-z]\w*)\b(?:\{([^}]*)\})?(?!\s*\()/gi)) {
    if (!series.has(name)) {
      if (!FUNCTIONS.has(name) && !isLabel(rest, name)) problems.push(`${name} is not exported`);
      continue;
    }
    for (const label of series.get(name) ?? []) asked.add(label);
    for (const [, label = ''] of labels.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
      if (series.get(name)?.has(label) !== true) problems.push(`${name} has no ${label}`);
    }
  }
  for (const [, grouped = ''] of plain.matchAll(/\b(?:by|on|without)\s*\(([^)]*)\)/g)) {
    for (const label of grouped.split(',').map((one) => one.trim())) {
      if (!asked.has(label)) problems.push(`nothing asked for has ${label}`);
    }
  }
  return problems;
}

function isLabel(text: string, name: string): boolean {
  return new RegExp(`[{,]\\s*${name}\\s*(?:=~|!~|!=|=)`).test(text);
}
