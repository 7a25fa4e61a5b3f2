import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type LogOptions, openLog } from './open-log.ts';

function collect(options: Partial<LogOptions> = {}) {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  const log = openLog({ level: 'debug', format: 'json', stream, ...options });
  const text = () => chunks.join('');
  const lines = () =>
    text()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, text, lines };
}

const TOKEN = `tmk_${'Zz9'.repeat(16)}a`;
const INVITE = `tmi_${'Zz9'.repeat(9)}`;

describe('lines', () => {
  it('[LOG-1] log lines are JSON with time, level, event and fields', () => {
    const { log, lines } = collect();
    log.info('server_ready', { url: 'http://127.0.0.1:9292', port: 9292, tls: false, licensee: null });
    log.warn('tidemark_not_noted');
    expect(lines()).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        event: 'server_ready',
        url: 'http://127.0.0.1:9292',
        port: 9292,
        tls: false,
        licensee: null,
      },
      { level: 'warn', time: expect.any(String), event: 'tidemark_not_noted' },
    ]);
  });

  it('[LOG-1] lines below the level are left out', () => {
    const { log, text } = collect({ level: 'error' });
    log.debug('a');
    log.info('b');
    log.warn('c');
    expect(text()).toBe('');
    expect(collect({ level: 'silent' }).log.logger.isLevelEnabled('fatal')).toBe(false);
  });

  it('[LOG-2] on a terminal lines are formatted for people, and coloured only if wanted', () => {
    const pretty = collect({ format: 'auto', isTerminal: true, hasColour: false });
    pretty.log.info('server_ready', { port: 9292 });
    expect(pretty.text()).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {2}server_ready port=9292\n$/);
    expect(pretty.text()).not.toContain('\u001b[');
    const coloured = collect({ format: 'pretty', isTerminal: false, hasColour: true });
    coloured.log.info('server_ready');
    expect(coloured.text()).toContain('\u001b[');
    const piped = collect({ format: 'auto', isTerminal: false });
    piped.log.info('server_ready');
    expect(piped.lines()).toMatchObject([{ event: 'server_ready' }]);
  });

  it('[LOG-3] a line about a request has its path without query and headers', () => {
    const { log, lines } = collect();
    const req = { method: 'GET', url: '/x?metric=y&token=geheim', ip: '::1', headers: { authorization: 'geheim' } };
    log.logger.info({ req, res: { statusCode: 200 } }, 'request');
    expect(lines()).toMatchObject([
      { req: { method: 'GET', path: '/x', address: '::1' }, res: { status: 200 }, event: 'request' },
    ]);
  });
});

describe('secrets', () => {
  const SECRETS = {
    token: 'geheim-1',
    password: 'geheim-2',
    Authorization: 'Bearer geheim-3',
    cookie: ['geheim-4', 'geheim-5'],
    'set-cookie': 'geheim-6',
    device_pin: 'geheim-7',
    devicePin: 'geheim-7',
    'X-Sync-API-TOKEN': 'geheim-8',
    webhook_secret: 'geheim-9',
    api_token: { nested: 'geheim-10' },
    admin_password: 12_345_678,
    id_token: 'geheim-11',
    invite: 'geheim-12',
  };

  it('[LOG-4] secrets are masked at any depth, in lists, in child loggers and in errors', () => {
    const { log, text, lines } = collect();
    log.info('flat', SECRETS as never);
    log.logger.info({ a: { b: { c: [{ d: SECRETS }] } } }, 'deep');
    log.logger.child({ caller: SECRETS }).warn('child');
    log.logger.error(Object.assign(new Error('it failed'), { request: { headers: SECRETS } }), 'error');
    expect(text()).not.toMatch(/geheim|12345678/);
    expect(lines()).toHaveLength(4);
    expect(lines()[1]).toMatchObject({ a: { b: { c: [{ d: { token: '***', cookie: '***', device_pin: '***' } }] } } });
  });

  it('[LOG-4] secrets are masked in lines for people', () => {
    const { log, text } = collect({ format: 'pretty', hasColour: false });
    log.logger.info({ a: { b: SECRETS }, err: new Error(`bad ${TOKEN}`) }, `token ${TOKEN}`);
    expect(text()).not.toMatch(/geheim|tmk_/);
    expect(text()).toContain('***');
  });

  it('[LOG-4] secrets are recognised inside of texts: tokens, queries, headers', () => {
    const { log, text } = collect();
    log.info(`who is ${TOKEN}?`, { url: '/x?token=geheim&start=1', header: 'Authorization: Bearer geheim' });
    log.logger.error(new Error(`cannot read http://h/?password=geheim&a=1 with ${TOKEN}`));
    log.logger.info({ [TOKEN]: 1 });
    log.info(`https://sync.example/invite#${INVITE}`, { url: '/x?id_token=geheim' });
    expect(text()).not.toMatch(/geheim|tmk_|tmi_/);
    expect(text()).toContain('/x?token=***&start=1');
  });

  it('[LOG-4] values that only resemble secrets are kept, and null secrets are shown as null', () => {
    const { log, lines } = collect();
    log.info('token_issued', { token_id: '0a1b', tokens: 3, token: null, password_changed: true });
    expect(lines()).toMatchObject([
      { event: 'token_issued', token_id: '0a1b', tokens: 3, token: null, password_changed: true },
    ]);
  });

  it('[LOG-4] secrets in extremely deep values are masked', () => {
    const { log, text } = collect();
    let value: unknown = { password: 'geheim' };
    for (let depth = 0; depth < 200; depth++) value = { value };
    log.logger.info({ value }, 'deep');
    expect(text()).not.toContain('geheim');
  });
});

it('[WORK-8] a line carries the number of its worker if there are several', () => {
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  openLog({ level: 'info', format: 'json', stream, worker: 3 }).info('started');
  openLog({ level: 'info', format: 'json', stream }).info('started');
  const [ofWorker, ofOne] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect([ofWorker?.worker, ofOne !== undefined && 'worker' in ofOne]).toEqual([3, false]);
});
