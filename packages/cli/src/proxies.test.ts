import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  Caller,
  findProgram,
  freePort,
  makeUser,
  openDevice,
  TEST_ONLY_CERTIFICATE,
  TEST_ONLY_PRIVATE_KEY,
  temporaryFolder,
  USER_PASSWORD,
} from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { describe, expect, it, onTestFinished } from 'vitest';

/** The program as it is shipped. `npm test` builds before it runs this. */
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const deployed = (name: string) => readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), 'utf8');

interface Place {
  readonly folder: string;
  readonly port: number;
  /** Where the Tidemark server listens, as `host:port`. */
  readonly target: string;
}

interface Proxy {
  readonly name: string;
  /** Writes the configuration, and returns the command that runs the proxy. */
  readonly prepare: (place: Place) => readonly [program: string, ...args: readonly string[]];
}

/** Replaces a text that the configuration must have. */
function replaced(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the configuration has no ${from}`);
  return text.replaceAll(from, to);
}

const nginx: Proxy = {
  name: 'nginx',
  prepare({ folder, port, target }) {
    let site = replaced(deployed('nginx/tidemark.conf'), '127.0.0.1:9292', target);
    site = replaced(site, 'listen 443 ssl', `listen 127.0.0.1:${port} ssl`);
    site = replaced(site, 'server_name sync.example', 'server_name localhost');
    writeFileSync(join(folder, 'tidemark.conf'), replaced(site, '/etc/tidemark/tls/', `${folder}/`));
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder}/${kind};`,
    );
    // A worker of another user could not enter the folder.
    const user = process.getuid?.() === 0 ? 'user root;' : '';
    writeFileSync(
      join(folder, 'nginx.conf'),
      `daemon off; ${user} pid ${folder}/nginx.pid; error_log stderr; events {}
       http { access_log off; ${temporary.join(' ')} include ${folder}/tidemark.conf; }`,
    );
    const program = findProgram({ names: ['nginx'], variable: 'TIDEMARK_NGINX' });
    return [program, '-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')];
  },
};

const caddy: Proxy = {
  name: 'Caddy',
  prepare({ folder, port, target }) {
    const own = `https://localhost:${port} {\n\ttls ${folder}/certificate.pem ${folder}/key.pem`;
    const site = replaced(deployed('caddy/Caddyfile'), 'sync.example {', own);
    const options = '{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tgrace_period 1s\n}\n';
    writeFileSync(join(folder, 'Caddyfile'), options + replaced(site, '127.0.0.1:9292', target));
    const program = findProgram({ names: ['caddy'], variable: 'TIDEMARK_CADDY' });
    return [program, 'run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  },
};

/** Starts a proxy in front of a server, and resolves with its address when it answers. */
async function startProxy({ prepare }: Proxy, server: TestServer): Promise<{ url: string; folder: string }> {
  const { path: folder, remove } = await temporaryFolder();
  onTestFinished(remove);
  writeFileSync(join(folder, 'certificate.pem'), TEST_ONLY_CERTIFICATE);
  writeFileSync(join(folder, 'key.pem'), TEST_ONLY_PRIVATE_KEY, { mode: 0o600 });
  const port = await freePort();
  const [program, ...args] = prepare({ folder, port, target: new URL(server.url).host });
  const child = spawn(program, args, { cwd: folder, env: { HOME: folder }, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => end(child));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const url = `https://localhost:${port}`;
  const answers = async () => {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${log}`);
    return (await ask(`${url}/healthz`).catch(() => null))?.statusCode;
  };
  await expect.poll(answers, { timeout: 60_000 }).toBe(200);
  return { url, folder };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function ask(url: string, headers: Readonly<Record<string, string>> = {}, body?: object): Promise<IncomingMessage> {
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const sent = request(url, { ca: TEST_ONLY_CERTIFICATE, method, headers, agent: false }, resolve);
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Runs a command of a device in a process that trusts the certificate. */
async function runDevice(folder: string, url: string, ...args: readonly string[]): Promise<string> {
  const { PATH = '' } = process.env;
  const trusted = { NODE_EXTRA_CA_CERTS: join(folder, 'certificate.pem') };
  const env = { PATH, HOME: folder, TIDEMARK_URL: url, TIDEMARK_PASSWORD: USER_PASSWORD, ...trusted };
  const child = spawn(process.execPath, [MAIN, 'device', ...args], { env, cwd: folder });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`tidemark device ${args.join(' ')}: ${err}`);
  return out;
}

describe.each([nginx, caddy])('behind $name', (proxy) => {
  it('[DEPLOY-20] a device syncs over TLS, events arrive while the stream is open, and the address of the caller is known', async () => {
    const server = await startTestServer({ trustProxy: true });
    onTestFinished(() => server.close());
    const admin = new Caller(server.url, server.token);
    onTestFinished(() => admin.close());
    await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
    await makeUser(server, 'ada');
    const push = (id: string) =>
      admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects: { [id]: { a: 1 } } });
    const { url, folder } = await startProxy(proxy, server);

    await push('1');
    await runDevice(folder, url, 'login', 'ada');
    await runDevice(folder, url, 'create', 'Order', 'b=2', '--id', '2');
    expect(JSON.parse(await runDevice(folder, url, 'list', 'Order', '--json'))).toMatchObject([
      { pending: false, attributes: { a: 1 } },
      { pending: false, attributes: { b: 2 } },
    ]);

    const device = await openDevice(server, 'ada');
    const stream = await ask(`${url}/sync/v1/events?pages=Order`, {
      authorization: `Bearer ${device.session.token}`,
      accept: 'text/event-stream',
    });
    onTestFinished(() => void stream.destroy());
    let events = '';
    stream.setEncoding('utf8').on('data', (text: string) => {
      events += text;
    });
    await expect.poll(() => events, { timeout: 60_000 }).toContain('event: ready');
    await push('3');
    // The stream stays open, so a proxy that collects it would never pass the event on.
    await expect.poll(() => events, { timeout: 60_000 }).toContain('event: changed');

    const claimed = { 'x-forwarded-for': '203.0.113.9', 'content-type': 'application/json' };
    await ask(`${url}/rc/v1/system/login`, claimed, { login: 'admin', password: 'wrong' });
    const [fact] = (await admin.get('/rc/v1/audit?limit=1')).body as object[];
    expect(fact).toMatchObject({ actor: 'admin', result: 'invalid_credentials', address: '127.0.0.1' });
  });
});
