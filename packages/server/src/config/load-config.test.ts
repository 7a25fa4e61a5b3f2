import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '@tidemark/protocol';
import { temporaryFolder } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigProblem } from './config-problem.ts';
import { type ConfigSources, type LoadedConfig, loadConfig, readConfig } from './load-config.ts';
import { SETTINGS } from './settings.ts';

let folder: string;

beforeEach(async () => {
  const temporary = await temporaryFolder();
  onTestFinished(temporary.remove);
  folder = temporary.path;
});

function load(sources: Partial<ConfigSources> = {}): LoadedConfig {
  return loadConfig({ env: {}, folder, userId: 1000, ...sources });
}

function write(name: string, content: unknown, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  chmodSync(path, mode);
  return path;
}

/** Returns the messages of all problems. */
function problemsOf(sources: Partial<ConfigSources>): readonly string[] {
  try {
    load(sources);
  } catch (error) {
    if (error instanceof ConfigProblem) return error.problems.map(({ detail }) => detail);
    throw error;
  }
  return [];
}

function originOf({ values }: LoadedConfig, name: string): string | undefined {
  return values.find(({ setting }) => setting.name === name)?.origin.name;
}

const DAYS_30_S = 2_592_000;

const STORE_RULE =
  'must be embedded, or like valkey://host:6379, valkeys:// for TLS, valkey+cluster://host,host or valkey+sentinel://host,host/name, without login and password';

describe('defaults', () => {
  it('[CONF-1] every setting has a default, and the server listens on loopback only', () => {
    const { config, warnings } = load();
    expect(config).toEqual({
      settingsInForce: expect.arrayContaining([
        { name: 'port', value: 9292, origin: 'default', kind: 'default', warning: null },
      ]),
      host: '127.0.0.1',
      port: 9292,
      workers: 1,
      backupFolder: null,
      backup: { schedule: null, keep: 14, command: null },
      listenBacklog: 4_096,
      dataFolder: join(folder, 'data'),
      store: 'embedded',
      isDurabilityRequired: false,
      valkey: {
        login: null,
        password: null,
        sentinelLogin: null,
        sentinelPassword: null,
        prefix: 'tidemark:',
        answerMs: 1_500,
        confirmReplicas: 0,
        isConfirmedOnDisk: false,
      },
      adminLogin: 'admin',
      adminPassword: null,
      logLevel: 'info',
      logFormat: 'auto',
      requestLog: { isComplete: false, slowMs: 1_000 },
      licensee: null,
      isResetAllowed: true,
      tokenTtlS: DAYS_30_S,
      bodyBytesMax: 10_000_000,
      publicUrl: null,
      trustProxy: false,
      areMetricsPublic: false,
      shutdownGraceMs: 10_000,
      shutdownDrainMs: 0,
      overload: { eventLoopDelayMsMax: 1_000, heapPercentMax: 90, rssBytesMax: 0 },
      rateLimits: { windowS: 10, perDevice: 0, perUser: 0, perToken: 0 },
      ping: {
        webhookUrl: null,
        webhookSecret: null,
        apns: null,
        fcm: null,
        webPush: {
          subject: null,
          hosts: ['fcm.googleapis.com', '*.push.services.mozilla.com', '*.notify.windows.com', '*.push.apple.com'],
          allowPrivate: false,
        },
        caFile: null,
        ttlS: 86_400,
        concurrency: 64,
        ratePerS: 2_000,
        spreadPerS: 1_000,
        resultsRetentionS: 604_800,
        resultsMax: 500_000,
        pushNotifyDelayMs: 1_000,
      },
      appFolder: null,
      backend: {
        secret: null,
        timeoutMs: 10_000,
        queryTimeoutMs: 60_000,
        pullWaitMs: 2_000,
        denyPrivate: false,
        offlineLoginS: 0,
      },
      issuers: [],
      adminSignIn: null,
      queues: [],
      stats: { retentionS: DAYS_30_S },
      activity: { keepHours: 24, eventsMax: 50_000 },
      devices: {
        retentionDays: 30,
        tokenTtlS: 2_592_000,
        origins: [],
        streamsMax: 20_000,
        streamsPerUserMax: 5_000,
        heartbeatS: 25,
        activeWindowS: 600,
      },
      files: {
        folder: null,
        s3: null,
        sizeMax: 1_073_741_824,
        quotaBytes: 10_737_418_240,
        uploadExpiresMs: 604_800_000,
        graceMs: 86_400_000,
        backendWaitMs: 3_600_000,
      },
      limits: DEFAULT_LIMITS,
      sources: [],
      connectors: [],
    });
    expect(warnings).toEqual([]);
  });

  it('[CONF-1] empty variables and nulls in the file count as unset', () => {
    write('tidemark.config.json', { port: null, licensee: null });
    const env = Object.fromEntries(SETTINGS.flatMap((setting) => (setting.env === null ? [] : [[setting.env, '']])));
    expect(load({ env: { ...env, TIDEMARK_CONFIG: '' } }).config).toEqual(load().config);
  });
});

describe('issuers', () => {
  const issuer = { name: 'company', issuer: 'https://id.example', audience: 'app' };

  it('[CONF-16] an issuer has defaults for all but its name, address and audience', () => {
    write('tidemark.config.json', { issuers: [issuer] });
    expect(load().config.issuers).toEqual([
      {
        ...{ name: 'company', issuer: 'https://id.example', audiences: ['app'], keys: { kind: 'discovery' } },
        ...{ clockSkewS: 60, userClaim: 'sub', groupsClaim: null, createsUsers: true, adoptsUsers: false },
        requiredClaims: new Map(),
      },
    ]);
  });

  it.each([
    [{ name: 'company' }, 'has no issuer'],
    [{ ...issuer, audience: undefined }, 'has no audience'],
    [{ ...issuer, audience: [] }, 'audience must be a text, or a list of 1 to 20 texts'],
    [{ ...issuer, issuer: 'http://id.example' }, 'issuer must be an https URL'],
    [{ ...issuer, jwks_url: 'http://10.0.0.1/keys' }, 'jwks_url must be an https URL'],
    [{ ...issuer, keys: [{ kty: 'oct', k: 'c2VjcmV0' }] }, 'keys must be a list of 1 to 20 public keys'],
    [{ ...issuer, keys: [{ kty: 'RSA', n: 'x', e: 'AQAB', d: 'x' }] }, 'keys must be a list of 1 to 20 public keys'],
    [{ ...issuer, clock_skew_s: 601 }, 'clock_skew_s must be a whole number from 0 to 600'],
    [{ ...issuer, required_claims: { a: null } }, 'required_claims must be an object'],
    [{ ...issuer, audiences: 'app' }, 'did you mean audience?'],
  ])('[CONF-16] the issuer %j is refused', (given, reason) => {
    write('tidemark.config.json', { issuers: [given] });
    expect(() => load()).toThrow(reason);
  });

  it('[CONF-16] administrators sign in with a declared issuer, a client id and a role, and the secret is masked', () => {
    const roles = [{ name: 'ops', scopes: ['admin', 'read'] }];
    const signIn = { issuer: 'company', client_id: 'console', client_secret: 'hush', roles };
    write('tidemark.config.json', { issuers: [issuer], admin_sign_in: signIn });
    const { config } = load();
    expect(config.adminSignIn).toEqual({
      ...{ issuer: 'company', clientId: 'console', clientSecret: 'hush', roleClaim: 'roles', sessionS: 28_800 },
      roles: new Map([['ops', ['admin', 'read']]]),
    });
    expect(JSON.stringify(config.settingsInForce)).not.toContain('hush');
  });

  it.each([
    [{ issuer: 'other', client_id: 'console', roles: [{ name: 'x', scopes: ['read'] }] }, 'must be the name of one'],
    [{ issuer: 'company', roles: [{ name: 'x', scopes: ['read'] }] }, 'client_id must be set'],
    [{ client_id: 'console' }, 'issuer must be set'],
    [{ issuer: 'company', client_id: 'console' }, 'roles must have a role'],
    [{ issuer: 'company', client_id: 'console', roles: [{ name: 'x', scopes: ['device'] }] }, 'one or more of admin'],
    [{ issuer: 'company', client_id: 'console', roles: [{ name: 'x' }] }, 'has no scopes'],
  ])('[CONF-16] the sign-in of administrators %j is refused', (admin_sign_in, reason) => {
    write('tidemark.config.json', { issuers: [issuer], admin_sign_in });
    expect(() => load()).toThrow(reason);
  });

  it('[CONF-16] an issuer cannot be declared twice under two names', () => {
    write('tidemark.config.json', { issuers: [issuer, { ...issuer, name: 'other' }] });
    expect(() => load()).toThrow('"https://id.example" is declared twice');
  });
});

describe('precedence', () => {
  it('[CONF-2] flags override the environment, the environment the file, the file the defaults, per setting', () => {
    write('tidemark.config.json', { host: '::1', port: 1, log_level: 'debug', licensee: 'Harbour' });
    const env = { TIDEMARK_PORT: '2', TIDEMARK_LOG_LEVEL: 'warn' };
    const loaded = load({ env, flags: new Map([['log_level', 'error']]) });
    expect(loaded.config).toMatchObject({
      host: '::1',
      port: 2,
      logLevel: 'error',
      licensee: 'Harbour',
      store: 'embedded',
    });
    expect(['host', 'port', 'log_level', 'store'].map((name) => originOf(loaded, name))).toEqual([
      'tidemark.config.json',
      'TIDEMARK_PORT',
      '--log-level',
      'default',
    ]);
  });

  it('[CONF-12] the store may be the address of a server, of a cluster or of sentinels', () => {
    for (const store of ['valkey://db', 'redis://[::1]:7000/2', 'rediss://db', 'valkeys+cluster://a:1,b:2']) {
      expect(load({ env: { TIDEMARK_STORE: store } }).config.store).toBe(store);
    }
  });

  it('[CONF-2] the file is named by `--config`, else by TIDEMARK_CONFIG, else it is the one in the working folder', () => {
    write('tidemark.config.json', { port: 1 });
    write('second.json', { port: 2 });
    const third = write('third.json', { port: 3 });
    expect(load().config.port).toBe(1);
    expect(load({ env: { TIDEMARK_CONFIG: 'second.json' } }).config.port).toBe(2);
    expect(load({ env: { TIDEMARK_CONFIG: 'second.json' }, file: third }).config.port).toBe(3);
  });

  it('[CONF-2] a path in the file is relative to the file, elsewhere to the working folder', () => {
    mkdirSync(join(folder, 'etc'));
    write('etc/t.json', { data: '../lib' });
    expect(load({ file: 'etc/t.json' }).config.dataFolder).toBe(join(folder, 'lib'));
    expect(load({ file: 'etc/t.json', env: { TIDEMARK_DATA: 'here' } }).config.dataFolder).toBe(join(folder, 'here'));
  });
});

describe('every setting', () => {
  it('[CONF-3] every setting can come from the file, and all but lists from the environment', () => {
    const named = SETTINGS.map(({ name, env, flag, secret, kind }) => ({ name, env, flag, secret, kind }));
    for (const { name, env, flag, secret, kind } of named) {
      const words = name.replace('.', '_');
      expect(env).toBe(kind === 'list' ? null : `TIDEMARK_${words.toUpperCase()}`);
      expect(flag).toBe(secret || kind === 'list' ? null : `--${words.replaceAll('_', '-')}`);
    }
    const variables = named.flatMap(({ env }) => env ?? []);
    expect(new Set(variables).size).toBe(variables.length);
    expect(named.map(({ env }) => env)).toEqual(
      expect.arrayContaining([
        'TIDEMARK_HOST',
        'TIDEMARK_PORT',
        'TIDEMARK_DATA',
        'TIDEMARK_STORE',
        'TIDEMARK_ADMIN_LOGIN',
        'TIDEMARK_ADMIN_PASSWORD',
        'TIDEMARK_LOG_LEVEL',
      ]),
    );
  });

  it('[CONF-3] a setting is read alike from the file and from the environment', () => {
    const settings = {
      allow_reset: false,
      token_ttl_s: 60,
      body_bytes_max: 2_000,
      public_url: 'https://sync.example/base',
      metrics_public: true,
      trust_proxy: true,
      shutdown_grace_ms: 0,
      admin_password: 'pässwörd',
      overload: { event_loop_delay_ms_max: 50, heap_percent_max: 80, rss_bytes_max: 1_000_000 },
      rate_limits: { window_s: 60, device_requests: 1, user_requests: 2, token_requests: 3 },
      ping: { webhook_url: 'http://127.0.0.1:8080/ping', webhook_secret: 's3' },
      stats: { retention_s: 3_600 },
      devices: { retention_days: 7, active_window_s: 300 },
      limits: { objects_per_write_max: 5, value_depth_max: 9 },
    };
    const { config: fromEnv } = load({
      env: {
        TIDEMARK_ALLOW_RESET: 'false',
        TIDEMARK_TOKEN_TTL_S: '60',
        TIDEMARK_BODY_BYTES_MAX: '2000',
        TIDEMARK_PUBLIC_URL: 'https://sync.example/base',
        TIDEMARK_METRICS_PUBLIC: 'TRUE',
        TIDEMARK_TRUST_PROXY: '1',
        TIDEMARK_SHUTDOWN_GRACE_MS: '0',
        TIDEMARK_ADMIN_PASSWORD: 'pässwörd',
        TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '50',
        TIDEMARK_OVERLOAD_HEAP_PERCENT_MAX: '80',
        TIDEMARK_OVERLOAD_RSS_BYTES_MAX: '1000000',
        TIDEMARK_RATE_LIMITS_WINDOW_S: '60',
        TIDEMARK_RATE_LIMITS_DEVICE_REQUESTS: '1',
        TIDEMARK_RATE_LIMITS_USER_REQUESTS: '2',
        TIDEMARK_RATE_LIMITS_TOKEN_REQUESTS: '3',
        TIDEMARK_PING_WEBHOOK_URL: 'http://127.0.0.1:8080/ping',
        TIDEMARK_PING_WEBHOOK_SECRET: 's3',
        TIDEMARK_STATS_RETENTION_S: '3600',
        TIDEMARK_DEVICES_RETENTION_DAYS: '7',
        TIDEMARK_DEVICES_ACTIVE_WINDOW_S: '300',
        TIDEMARK_LIMITS_OBJECTS_PER_WRITE_MAX: '5',
        TIDEMARK_LIMITS_VALUE_DEPTH_MAX: '9',
      },
    });
    write('tidemark.config.json', settings);
    expect({ ...load().config, settingsInForce: [] }).toEqual({ ...fromEnv, settingsInForce: [] });
    expect(fromEnv).toMatchObject({
      isResetAllowed: false,
      shutdownGraceMs: 0,
      overload: { eventLoopDelayMsMax: 50, heapPercentMax: 80, rssBytesMax: 1_000_000 },
      rateLimits: { windowS: 60, perDevice: 1, perUser: 2, perToken: 3 },
      limits: { ...DEFAULT_LIMITS, objectsPerWriteMax: 5, valueDepthMax: 9 },
    });
  });

  it('[CONF-3] `readConfig` returns the configuration alone', () => {
    const env = { TIDEMARK_CONFIG: write('empty.json', '{}'), TIDEMARK_DATA: folder };
    expect(readConfig(env, new Map([['port', '0']]))).toMatchObject({ port: 0, dataFolder: folder });
    expect(readConfig(env).port).toBe(9292);
  });
});

describe('invalid values', () => {
  it.each(['65536', '-1', '80.5', '0x50', 'http', ' 80', '1e3', '100000'])(
    '[CONF-4] port %j is refused with a message that names setting, origin and rule',
    (text) => {
      const rule = `must be a whole number from 0 to 65535, not ${/^-?[0-9]+$/.test(text) ? text : JSON.stringify(text)}`;
      expect(problemsOf({ env: { TIDEMARK_PORT: text } })).toEqual([`TIDEMARK_PORT ${rule}`]);
      expect(problemsOf({ flags: new Map([['port', text]]) })).toEqual([`--port ${rule}`]);
    },
  );

  it.each([
    ['TIDEMARK_BODY_BYTES_MAX', '-1', 'must be a whole number from 1024 to 500000000, not -1'],
    ['TIDEMARK_LIMITS_OBJECTS_PER_WRITE_MAX', '0', 'must be a whole number from 1 to 10000000, not 0'],
    ['TIDEMARK_LIMITS_VALUE_DEPTH_MAX', '-5', 'must be a whole number from 1 to 1000, not -5'],
    ['TIDEMARK_TOKEN_TTL_S', '0', 'must be a whole number from 1 to 315360000, not 0'],
    ...['redis', 'http://host', 'valkey://', 'valkey://ann:secret@host', 'valkey://host?x=1', 'valkey+ring://host'].map(
      (address) => ['TIDEMARK_STORE', address, `${STORE_RULE}, not "${address.replace('ann:secret', '***')}"`],
    ),
    ['TIDEMARK_ALLOW_RESET', 'maybe', 'must be true or false, not "maybe"'],
    ['TIDEMARK_ADMIN_LOGIN', '*', 'must be a name of 1 to 255 bytes without control characters, not "*"'],
    [
      'TIDEMARK_PUBLIC_URL',
      'ftp://x',
      'must be an absolute http or https URL without login, password or fragment, not "ftp://x"',
    ],
    ['TIDEMARK_LOG_LEVEL', 'loud', 'must be one of debug, info, warn, error, silent, not "loud"'],
  ])('[CONF-4] %s=%s is refused', (name, value, rule) => {
    expect(problemsOf({ env: { [name]: value } })).toEqual([`${name} ${rule}`]);
  });

  it.each([
    'app.example',
    '*',
    'null',
    'https://app.example/',
    'https://app.example/path',
    'https://APP.example',
    'https://app.example:443',
    'https://a.example,',
    'https://a.example https://b.example',
    'https://u:p@a.example',
    'file:///x',
    '["https://app.example/"]',
    '["https://app.example", 5]',
    '["https://app.example"',
  ])('[CONF-4] TIDEMARK_DEVICES_ORIGINS=%s is refused, because no browser sends such an origin', (value) => {
    const [problem, ...more] = problemsOf({ env: { TIDEMARK_DEVICES_ORIGINS: value } });
    expect(problem).toMatch(/^TIDEMARK_DEVICES_ORIGINS must be origins such as https:\/\/app.example/);
    expect(more).toEqual([]);
  });

  it('[CONF-3] origins are a JSON list or separated by commas, in the environment and in the file', () => {
    const origins = ['https://app.example', 'http://localhost:5173', 'capacitor://localhost'];
    const separated = 'https://app.example, http://localhost:5173,capacitor://localhost';
    for (const value of [separated, JSON.stringify(origins)])
      expect(load({ env: { TIDEMARK_DEVICES_ORIGINS: value } }).config.devices.origins).toEqual(origins);
    for (const value of [separated, origins]) {
      write('tidemark.config.json', { devices: { origins: value } });
      expect(load().config.devices.origins).toEqual(origins);
    }
    write('tidemark.config.json', { devices: { origins: ['https://app.example/'] } });
    expect(problemsOf({})).toEqual([
      'devices.origins in tidemark.config.json must be origins such as https://app.example, as a JSON list or separated by commas, without a slash at the end, not ["https://app.example/"]',
    ]);
  });

  it('[CONF-4] no limit may be zero or negative', () => {
    const limits = SETTINGS.filter(({ name }) => name.startsWith('limits.'));
    expect(limits).toHaveLength(Object.keys(DEFAULT_LIMITS).length);
    for (const { env } of limits) {
      for (const value of ['0', '-1']) expect(problemsOf({ env: { [env ?? '']: value } })).toHaveLength(1);
      expect(problemsOf({ env: { [env ?? '']: '1' } })).toEqual([]);
    }
  });

  it('[CONF-4] the value that Kubernetes puts into TIDEMARK_PORT gets its own message', () => {
    const [problem] = problemsOf({ env: { TIDEMARK_PORT: 'tcp://10.0.0.1:9292' } });
    expect(problem).toMatch(/^TIDEMARK_PORT must be .*, not "tcp:.*; Kubernetes sets it .*enableServiceLinks/);
    expect(load({ env: { TIDEMARK_SERVICE_HOST: '10.0.0.1', TIDEMARK_PORT_9292_TCP_ADDR: 'x' } }).warnings).toEqual([]);
  });

  it('[CONF-5] all problems are reported at once, also of overridden values', () => {
    write('tidemark.config.json', { port: 'x', prot: 1, sources: [{ name: 'A' }, { name: 'A' }] });
    const env = { TIDEMARK_PORT: '1', TIDEMARK_STORE: 'redis' };
    expect(problemsOf({ env })).toEqual([
      '"prot" in tidemark.config.json is not a setting; did you mean port?',
      'port in tidemark.config.json must be a whole number from 0 to 65535, not "x"',
      'sources in tidemark.config.json: "A" is declared twice',
      expect.stringMatching(/^TIDEMARK_STORE must be embedded, or like valkey:\/\/host:6379, .*, not "redis"$/),
    ]);
    expect(() => load({ env: { TIDEMARK_PORT: 'x' } })).toThrow(/^the configuration has 4 problems:\n {2}"prot" in/);
  });

  it('[CONF-5] each problem has its setting and origin as data', () => {
    write('etc.json', { port: 'x' });
    try {
      load({ file: 'etc.json', env: { TIDEMARK_STORE: 'x' } });
    } catch (error) {
      expect((error as ConfigProblem).problems.map(({ setting, origin }) => [setting, origin])).toEqual([
        ['port', 'etc.json'],
        ['store', 'TIDEMARK_STORE'],
      ]);
    }
    expect.assertions(1);
  });
});

describe('the file', () => {
  it.each([
    ['{"port": 1', /^tidemark.config.json is not JSON: there is a mistake at line 1, column 11$/],
    ['[]', /^tidemark.config.json must hold an object of settings$/],
    ['{"ping": "x"}', /^ping in tidemark.config.json must be an object of settings$/],
    ['{"limits": {"objects": 1}}', /^"limits.objects" in tidemark.config.json is not a setting$/],
    ['{"limits.value_depth_max": 1}', /^"limits.value_depth_max" in .* did you mean limits.value_depth_max\?$/],
    ['{"adminLogin": "x"}', /^"adminLogin" in .* did you mean admin_login\?$/],
    ['{"limits": {"valueDepthMax": 1}}', /did you mean limits.value_depth_max\?$/],
    ['{"__proto__": {"port": 1}}', /^"__proto__" in tidemark.config.json is not a setting$/],
    ['{"constructor": 1}', /^"constructor" in tidemark.config.json is not a setting$/],
    ['{"sources": {}}', /^sources in tidemark.config.json must be a list of at most 1000 sources/],
  ])('[CONF-6] %s is refused', (text, problem) => {
    write('tidemark.config.json', text);
    expect(problemsOf({})).toEqual([expect.stringMatching(problem)]);
  });

  it('[CONF-6] the file may have comments, and `$schema` for an editor', () => {
    write('tidemark.config.json', '{ "$schema": "x", // nothing\n "port": 7, }');
    expect(load().config.port).toBe(7);
  });

  it('[CONF-6] a file that is named must exist', () => {
    expect(problemsOf({ file: 'gone.json' })).toEqual(['gone.json, named by --config, cannot be read (ENOENT)']);
    expect(problemsOf({ env: { TIDEMARK_CONFIG: 'gone.json' } })).toEqual([
      'gone.json, named by TIDEMARK_CONFIG, cannot be read (ENOENT)',
    ]);
  });

  it('[CONF-7] the file declares sources with all their attributes', () => {
    const sources = [
      { name: 'Product', partition_type: 'app', sync_type: 'bulk_only', poll_interval: -1, adapter: 'backend' },
      { name: 'Order', queue: 'orders', query_queue: null, cud_queue: 'cud', poll_interval: 0 },
    ];
    write('tidemark.config.json', { sources });
    expect(load().config.sources).toEqual(sources);
  });

  it('[CONF-7] an invalid source is refused with its name and the attribute', () => {
    const sources = [
      { name: 'A', poll_intervall: 5, partition_type: 'shared' },
      { partition_type: 'app' },
      'B',
      { name: '*', poll_interval: -2, queue: 7 },
    ];
    write('tidemark.config.json', { sources });
    const at = (index: number) => `sources in tidemark.config.json, source ${index}:`;
    expect(problemsOf({})).toEqual([
      `${at(1)} "poll_intervall" is not an attribute of a source; did you mean poll_interval?`,
      `${at(1)} partition_type must be one of app, user, group, not "shared"`,
      `${at(2)} has no name`,
      `${at(3)} must be an object`,
      `${at(4)} name must be a name of 1 to 255 bytes without control characters, not "*"`,
      `${at(4)} poll_interval must be a whole number of seconds from -1 to 315360000, not -2`,
      `${at(4)} queue must be a name of 1 to 255 bytes without control characters, or null, not 7`,
    ]);
  });
});

describe('unknown names', () => {
  it('[CONF-8] a misspelt variable is refused with a suggestion', () => {
    expect(problemsOf({ env: { TIDEMARK_ALOW_RESET: 'false', TIDEMARK_PROT: '1' } })).toEqual([
      'TIDEMARK_ALOW_RESET is not a setting; did you mean TIDEMARK_ALLOW_RESET?',
      'TIDEMARK_PROT is not a setting; did you mean TIDEMARK_PORT?',
    ]);
  });

  it('[CONF-8] a variable that resembles no setting causes a warning and is ignored', () => {
    const { warnings } = load({ env: { TIDEMARK_COLOUR_OF_HULL: 'red', TIDEMARK_EMPTY: '', OTHER: 'x' } });
    expect(warnings.map(({ detail }) => detail)).toEqual([
      'TIDEMARK_COLOUR_OF_HULL is not a setting of Tidemark, and is ignored',
    ]);
  });
});

describe('files', () => {
  const bucket = {
    TIDEMARK_FILES_S3_BUCKET: 'photos',
    TIDEMARK_FILES_S3_ACCESS_KEY: 'AK',
    TIDEMARK_FILES_S3_SECRET_KEY: 'SK',
  };

  it('[FILES-67] a bucket is reached with its keys, and these are never shown', () => {
    const { config } = load({ env: { ...bucket, TIDEMARK_FILES_S3_PREFIX: 'till/', TIDEMARK_FILES_S3_LINK_S: '60' } });
    expect(config.files.s3).toEqual({
      ...{ bucket: 'photos', endpoint: null, region: 'us-east-1', prefix: 'till/' },
      ...{ accessKey: 'AK', secretKey: 'SK', linkS: 60 },
    });
    expect(JSON.stringify(config.settingsInForce)).not.toMatch(/"(?:AK|SK)"/);
  });

  it('[FILES-67] a bucket without keys, beside a folder or for larger files than S3 copies is refused', () => {
    const problemsOf = (env: Record<string, string>) => {
      try {
        return load({ env }).config.files;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(problemsOf({ TIDEMARK_FILES_S3_BUCKET: 'photos' })).toContain('files.s3_secret_key must be set');
    expect(problemsOf({ TIDEMARK_FILES_S3_SECRET_KEY: 'SK' })).toContain('files.s3_bucket must be set');
    expect(problemsOf({ ...bucket, TIDEMARK_FILES_FOLDER: '/srv' })).toContain('files.folder cannot be set beside');
    expect(problemsOf({ ...bucket, TIDEMARK_FILES_SIZE_MAX: '5368709121' })).toContain('files.size_max is at most');
    expect(problemsOf({ ...bucket, TIDEMARK_FILES_SIZE_MAX: '5368709120' })).toMatchObject({ sizeMax: 5_368_709_120 });
  });

  it('[FILES-67] a shared store with files in a data folder is warned about', () => {
    const warned = (env: Record<string, string>) =>
      load({ env: { TIDEMARK_STORE: 'valkey://127.0.0.1', ...env } }).warnings.map(({ setting }) => setting);
    expect(warned({})).toContain('files.folder');
    expect(warned({ TIDEMARK_FILES_FOLDER: '/shared' })).not.toContain('files.folder');
    expect(warned(bucket)).not.toContain('files.folder');
    expect(load().warnings.map(({ setting }) => setting)).not.toContain('files.folder');
  });
});

describe('secrets', () => {
  const secrets = SETTINGS.filter(({ secret }) => secret);

  it('[CONF-9] secrets are never flags, and may be in a file named by TIDEMARK_…_FILE', () => {
    expect(secrets.map(({ name }) => name)).toEqual([
      'valkey.password',
      'valkey.sentinel_password',
      'admin_password',
      'ping.webhook_secret',
      'ping.apns_key',
      'ping.fcm_account',
      'backend.secret',
      'admin_sign_in.client_secret',
      'files.s3_access_key',
      'files.s3_secret_key',
    ]);
    const env = {
      TIDEMARK_ADMIN_PASSWORD_FILE: write('pw', 'open sesame\n'),
      TIDEMARK_PING_WEBHOOK_SECRET_FILE: 'hook',
      TIDEMARK_VALKEY_PASSWORD_FILE: write('valkey', 'barnacle'),
      TIDEMARK_VALKEY_SENTINEL_PASSWORD_FILE: write('sentinel', 'limpet'),
    };
    write('hook', 'a\nb\n');
    const loaded = load({ env });
    expect(loaded.config).toMatchObject({
      adminPassword: 'open sesame',
      ping: { webhookSecret: 'a\nb' },
      valkey: { password: 'barnacle', sentinelPassword: 'limpet' },
    });
    expect(originOf(loaded, 'admin_password')).toBe('TIDEMARK_ADMIN_PASSWORD_FILE');
  });

  it('[CONF-9] a secret file that everybody may read is refused with the name of the setting', () => {
    for (const mode of [0o604, 0o644, 0o602, 0o777]) {
      write('pw', 'open sesame', mode);
      const problems = problemsOf({ env: { TIDEMARK_ADMIN_PASSWORD_FILE: 'pw' } });
      expect(problems).toEqual([
        'TIDEMARK_ADMIN_PASSWORD_FILE (admin_password): pw can be read or changed by everybody on this machine; run chmod o-rwx on it',
      ]);
    }
    write('pw', 'open sesame', 0o640);
    expect(problemsOf({ env: { TIDEMARK_ADMIN_PASSWORD_FILE: 'pw' } })).toEqual([]);
  });

  it('[CONF-9] a configuration file with secrets that everybody may read is refused, and one without secrets is not', () => {
    write('tidemark.config.json', { port: 1 }, 0o644);
    expect(problemsOf({})).toEqual([]);
    write('tidemark.config.json', { admin_password: 'open sesame' }, 0o644);
    expect(problemsOf({})).toEqual([
      'tidemark.config.json holds admin_password and can be read or changed by everybody on this machine; run chmod o-rwx on it',
    ]);
  });

  it('[CONF-9] a secret that is given twice, missing, empty or too large is refused', () => {
    write('pw', '');
    write('big', 'x'.repeat(70_000));
    const file = (path: string) => ({ TIDEMARK_ADMIN_PASSWORD_FILE: path });
    expect([
      problemsOf({ env: { ...file('pw'), TIDEMARK_ADMIN_PASSWORD: 'x' } }),
      problemsOf({ env: file('gone') }),
      problemsOf({ env: file('pw') }),
      problemsOf({ env: file('big') }),
    ]).toEqual([
      ['TIDEMARK_ADMIN_PASSWORD and TIDEMARK_ADMIN_PASSWORD_FILE are both set; leave one of them out'],
      ['TIDEMARK_ADMIN_PASSWORD_FILE (admin_password): gone cannot be read (ENOENT)'],
      ['TIDEMARK_ADMIN_PASSWORD_FILE must have 1 to 1024 bytes'],
      ['TIDEMARK_ADMIN_PASSWORD_FILE (admin_password): big is larger than 65536 bytes'],
    ]);
  });

  it('[CONF-9] invalid secrets are never repeated in messages', () => {
    const secret = 'geheim'.repeat(500);
    const env = { TIDEMARK_ADMIN_PASSWORD: secret, TIDEMARK_PING_WEBHOOK_SECRET: secret };
    expect(problemsOf({ env }).join()).not.toContain('geheim');
    expect(problemsOf({ env })).toHaveLength(1);
  });
});

describe('an address with a password in it', () => {
  it.each(['TIDEMARK_PUBLIC_URL', 'TIDEMARK_PING_WEBHOOK_URL'])(
    '[CONF-9] an address with a password is refused as %s, and the password is not repeated',
    (name) => {
      const [problem = '', ...others] = problemsOf({ env: { [name]: 'https://ada:lovelace@sync.example' } });
      expect(others).toEqual([]);
      expect(problem).toContain('https://***@sync.example');
      expect(problem).not.toContain('lovelace');
    },
  );
});

describe('warnings', () => {
  function warningsOf(env: Record<string, string>, userId = 1000): readonly (string | null)[] {
    return load({ env, userId }).warnings.map(({ setting }) => setting);
  }

  it('[CONF-10] running as root causes a warning', () => {
    expect(load({ userId: 0 }).warnings.map(({ detail }) => detail)).toEqual([
      'the server runs as root; a separate user limits the damage of a security hole',
    ]);
  });

  it.each(['0.0.0.0', '::', '192.168.1.5', 'sync.example'])(
    '[CONF-10] listening on %s without TLS in front causes a warning',
    (host) => {
      expect(warningsOf({ TIDEMARK_HOST: host })).toEqual(['host']);
      expect(warningsOf({ TIDEMARK_HOST: host, TIDEMARK_PUBLIC_URL: 'http://x.example' })).toEqual(['host']);
      const isHttps = { TIDEMARK_PUBLIC_URL: 'https://x.example', TIDEMARK_TRUST_PROXY: 'true' };
      expect(warningsOf({ TIDEMARK_HOST: host, ...isHttps })).toEqual([]);
      expect(warningsOf({ TIDEMARK_HOST: host, TIDEMARK_TRUST_PROXY: 'true' })).toEqual([]);
    },
  );

  it.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST', 'a.localhost'])(
    '[CONF-10] %s causes no warning',
    (host) => {
      expect(warningsOf({ TIDEMARK_HOST: host })).toEqual([]);
    },
  );

  it('[CONF-10] a public URL of https without trust_proxy causes a warning, because all callers would count as one address', () => {
    expect(warningsOf({ TIDEMARK_PUBLIC_URL: 'https://x.example' })).toEqual(['trust_proxy']);
    expect(warningsOf({ TIDEMARK_PUBLIC_URL: 'https://x.example', TIDEMARK_TRUST_PROXY: 'true' })).toEqual([]);
    expect(warningsOf({ TIDEMARK_PUBLIC_URL: 'http://x.example' })).toEqual([]);
  });

  it('[CONF-10] a commonly guessed password causes a warning', () => {
    expect(warningsOf({ TIDEMARK_ADMIN_PASSWORD: 'Password' })).toEqual(['admin_password']);
    expect(warningsOf({ TIDEMARK_ADMIN_LOGIN: 'boss', TIDEMARK_ADMIN_PASSWORD: 'boss' })).toEqual(['admin_password']);
    expect(warningsOf({ TIDEMARK_ADMIN_PASSWORD: 'a harbour at dawn' })).toEqual([]);
    const { settingsInForce } = load({ env: { TIDEMARK_ADMIN_PASSWORD: 'Password' }, userId: 1000 }).config;
    expect(settingsInForce.filter(({ warning }) => warning !== null)).toEqual([
      {
        name: 'admin_password',
        value: '***',
        origin: 'TIDEMARK_ADMIN_PASSWORD',
        kind: 'environment',
        warning: 'admin_password is a commonly guessed password; choose another',
      },
    ]);
  });
});

describe('scheduled backups', () => {
  const problemsOf = (env: Readonly<Record<string, string>>): string => {
    try {
      loadConfig({ env, folder: '/nowhere', userId: 1000 });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('[CONFIG-41] a schedule, a number to keep and a command are read from the settings', () => {
    const env = {
      TIDEMARK_BACKUP_SCHEDULE: 'daily 03:00',
      TIDEMARK_BACKUP_KEEP: '7',
      TIDEMARK_BACKUP_COMMAND: '/usr/local/bin/copy-backup',
    };
    expect(loadConfig({ env, folder: '/nowhere', userId: 1000 }).config.backup).toEqual({
      schedule: { text: 'daily 03:00', everyMs: 86_400_000, offsetMs: 10_800_000 },
      keep: 7,
      command: '/usr/local/bin/copy-backup',
    });
  });

  it.each([
    [{ TIDEMARK_BACKUP_SCHEDULE: 'at night' }, 'must be hourly, daily HH:MM, or weekly with a day and HH:MM'],
    [{ TIDEMARK_BACKUP_KEEP: '0' }, 'must be a whole number from 1 to 100'],
    [{ TIDEMARK_BACKUP_SCHEDULE: 'hourly', TIDEMARK_BACKUP_COMMAND: 'copy' }, 'must be the absolute path of a program'],
    [{ TIDEMARK_BACKUP_COMMAND: '/bin/true' }, 'backup.schedule must be set, because backup.command is'],
    [
      { TIDEMARK_BACKUP_SCHEDULE: 'hourly', TIDEMARK_STORE: 'valkey://127.0.0.1:6379' },
      'backed up with their own tools',
    ],
  ])('[CONFIG-41] %j is refused', (env, problem) => {
    expect(problemsOf(env)).toContain(problem);
  });
});

describe('adapters of configured sources', () => {
  it('[CONFIG-42] a mistyped adapter is refused with the known ones, those of source modules included', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const write = (sources: readonly object[], app: string | null) => {
      const config = { sources, ...(app === null ? {} : { app }) };
      writeFileSync(join(folder.path, 'tidemark.config.json'), JSON.stringify(config));
      return () =>
        loadConfig({ env: {}, folder: folder.path, userId: 1000 }).config.sources.map(({ adapter }) => adapter);
    };
    const asked = (adapter: string) => [{ name: 'Order', adapter }];
    expect(write(asked('bakend'), null)).toThrow(
      'sources[0].adapter of Order must be one of none, backend, not "bakend"; did you mean backend?',
    );
    expect(write(asked('Stock'), null)).toThrow('must be one of none, backend, not "Stock"');
    mkdirSync(join(folder.path, 'app', 'sources'), { recursive: true });
    writeFileSync(
      join(folder.path, 'app', 'sources', 'Stock.ts'),
      'export default defineSource({ query: async () => ({}) });',
    );
    writeFileSync(join(folder.path, 'app', 'sources', 'b.ts'), "export default defineSource({ name: 'Bin', query });");
    for (const good of ['Stock', 'Bin', 'none', 'backend']) expect(write(asked(good), 'app')()).toEqual([good]);
    expect(write(asked('Stok'), 'app')).toThrow(
      'must be one of none, backend, Stock, b, not "Stok"; did you mean Stock?',
    );
  });
});
