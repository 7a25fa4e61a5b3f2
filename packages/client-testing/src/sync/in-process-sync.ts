import {
  type Committed,
  type DeviceId,
  joinParts,
  readAckRequest,
  readPullRequest,
  readPushRequest,
  renderChange,
  renderLines,
  renderPull,
  type Tidemark,
} from '@tidemark/core';
import {
  type AckRequest,
  type PullRequest,
  type PushRequest,
  parseJson,
  Refusal,
  type RefusalCode,
  type SyncEvents,
  type WipedReport,
} from '@tidemark/protocol';
import { InProcessFiles } from './in-process-files.ts';

/** A request to the sync protocol. */
export interface SyncExchange {
  readonly method: string;
  /** Under `/sync/v1`, without the query. */
  readonly path: string;
  readonly body: unknown;
}

interface Session extends DeviceId {
  readonly expiresAtMs: number;
}

type Change = SyncEvents['changed'];

type Handler = (exchange: SyncExchange, session: Session, url: URL, signal: AbortSignal | null) => Promise<Response>;

const FILES = '/files';
const TOKEN_LIFE_MS = 86_400_000;

interface LoginBody {
  readonly login: string;
  readonly password: string;
  readonly client?: string;
  readonly device?: object;
}

/**
 * Answers the device protocol from a `Tidemark` in this process, without HTTP, for tests that decide what happens to
 * every message. It checks sessions only as far as devices notice.
 */
export class InProcessSync {
  readonly #tidemark: Tidemark;
  readonly #nowMs: () => number;
  readonly #sessions = new Map<string, Session>();
  /** Tokens that were revoked. */
  readonly #ended = new Map<string, RefusalCode>();
  readonly #listeners = new Set<(committed: Committed) => void>();
  readonly #streams = new Set<() => void>();
  /** True: events about changes carry pages, for devices that ask for them. */
  sendsPages = false;
  /** Called with every event about a change, and the function that sends it. A test may lose, repeat or replace it. */
  onChanged: (change: Change, send: (change: Change) => void) => void = (change, send) => send(change);
  readonly files: InProcessFiles;
  /** Every request that was answered, in order. */
  readonly log: SyncExchange[] = [];

  constructor(tidemark: Tidemark, nowMs: () => number = () => 1_700_000_000_000) {
    this.#tidemark = tidemark;
    this.#nowMs = nowMs;
    this.files = new InProcessFiles(tidemark.files);
    tidemark.events.on('committed', (committed) => {
      for (const listener of this.#listeners) listener(committed);
    });
  }

  readonly fetch = async (address: string, init: RequestInit): Promise<Response> => {
    const url = new URL(address);
    const path = url.pathname.slice('/sync/v1'.length);
    const body: unknown = typeof init.body === 'string' ? parseJson(init.body) : undefined;
    const exchange = { method: init.method ?? 'GET', path, body };
    this.log.push(exchange);
    try {
      if (path === '/login') return await this.#logIn(body as LoginBody);
      const headers = new Headers(init.headers);
      const session = this.#sessionOf(headers.get('authorization'));
      if (path.startsWith(FILES)) return await this.#exchangeFile(exchange, session, headers, init.body);
      return await this.#handlerOf(exchange)(exchange, session, url, init.signal ?? null);
    } catch (error) {
      return refused(error);
    }
  };

  /** Ends all sessions, as an administrator would. `code` is what devices are told. */
  endSessions(code: RefusalCode = 'token_invalid'): void {
    for (const token of this.#sessions.keys()) this.#ended.set(token, code);
  }

  /** Ends all event streams, as a restart of the server would. */
  endStreams(): void {
    for (const end of [...this.#streams]) end();
  }

  count(path: string): number {
    return this.log.filter((exchange) => exchange.path === path).length;
  }

  #handlerOf({ method, path }: SyncExchange): Handler {
    const snapshot = /^\/sources\/([^/]+)\/snapshot$/.exec(path)?.[1];
    if (snapshot !== undefined) return (_, session, url) => this.#snapshot(decodeURIComponent(snapshot), session, url);
    if (method === 'POST' && /^\/clients\/[^/]+\/wiped$/.test(path))
      return (call, session) => this.#wiped(call, session);
    if (method === 'PUT' && /^\/clients\/[^/]+$/.test(path)) return (call, session) => this.#describe(call, session);
    const handlers: Readonly<Record<string, Handler>> = {
      'POST /token': (_, session) => this.#session(session.user, session.client),
      'DELETE /token': async (_, session) => this.#signOut(session),
      'GET /sources': async () => json({ sources: await this.#tidemark.devices.sources() }),
      'POST /pull': ({ body }, session) => this.#pull(body as PullRequest, session),
      'POST /ack': ({ body }, session) => this.#acknowledge(body as AckRequest, session),
      'POST /push': ({ body }, session) => this.#push(body as PushRequest, session),
      'GET /events': async (_, session, url, signal) => this.#events(session, url, signal),
    };
    const handler = handlers[`${method} ${path}`];
    if (handler === undefined) throw new Refusal('not_found', `there is nothing at ${path}`);
    return async (exchange, session, ...rest) => {
      await this.#tidemark.clients.own(session.user, session.client);
      return handler(exchange, session, ...rest);
    };
  }

  async #exchangeFile({ method, path }: SyncExchange, session: Session, headers: Headers, bytes: unknown) {
    await this.#tidemark.clients.own(session.user, session.client);
    const body = bytes instanceof Uint8Array ? new Uint8Array(bytes) : new TextEncoder().encode(String(bytes ?? ''));
    const { user, client } = session;
    return this.files.answer({ method, path: path.slice(FILES.length), headers, body, user, client });
  }

  async #signOut({ client }: Session): Promise<Response> {
    this.#endSessionsOf(client);
    return json({ revoked: true });
  }

  async #wiped({ body }: SyncExchange, { user, client }: Session): Promise<Response> {
    const { unsent_uploads } = body as WipedReport;
    const order = await this.#tidemark.clients.wipes.confirm(user, client, unsent_uploads);
    this.#endSessionsOf(client);
    return json(order);
  }

  async #describe({ body }: SyncExchange, { user, client }: Session): Promise<Response> {
    const { client_id } = await this.#tidemark.clients.update(user, client, body);
    return json({ client_id });
  }

  #endSessionsOf(client: string): void {
    for (const [token, session] of this.#sessions)
      if (session.client === client) this.#ended.set(token, 'token_revoked');
  }

  async #logIn({ login, password, client, device = {} }: LoginBody): Promise<Response> {
    const user = await this.#tidemark.users.verifyPassword(login, password);
    if (user === null) throw new Refusal('invalid_credentials', 'login or password is wrong');
    const { id, isWiped } = await this.#tidemark.clients.enter(login, client ?? null, device);
    return this.#session(login, id, isWiped);
  }

  async #session(user: string, client: string, isWiped = false): Promise<Response> {
    const generation = await this.#tidemark.users.generationOf(user);
    const token = `token-${this.#sessions.size}-${client}`;
    const expiresAtMs = this.#nowMs() + TOKEN_LIFE_MS;
    this.#sessions.set(token, { user, client, expiresAtMs });
    const expires_at = new Date(expiresAtMs).toISOString();
    const session = { token, user_id: user, client_id: client, expires_at };
    return json({ ...session, ...(generation === null ? {} : { generation }), ...(isWiped ? { wipe: true } : {}) });
  }

  #sessionOf(authorization: string | null): Session {
    const token = authorization?.slice('Bearer '.length) ?? '';
    const session = this.#ended.has(token) ? undefined : this.#sessions.get(token);
    if (session !== undefined && session.expiresAtMs > this.#nowMs()) return session;
    throw new Refusal(this.#ended.get(token) ?? 'token_invalid', 'the token is not valid');
  }

  async #pull(body: PullRequest, { user }: Session): Promise<Response> {
    const pulled = await this.#tidemark.devices.pull({ user, client: body.client_id }, readPullRequest(body));
    await pulled.noted;
    return answer(joinParts(renderPull(pulled)));
  }

  async #acknowledge(body: AckRequest, { user }: Session): Promise<Response> {
    const device = { user, client: body.client_id };
    return json({ acknowledged: await this.#tidemark.devices.acknowledge(device, readAckRequest(body)) });
  }

  async #push(body: PushRequest, { user }: Session): Promise<Response> {
    const device = { user, client: body.client_id };
    return json({ outcomes: await this.#tidemark.devices.push(device, readPushRequest(body)) });
  }

  async #snapshot(source: string, { user, client }: Session, url: URL): Promise<Response> {
    const lines: string[] = [];
    const group = url.searchParams.get('group');
    const call = { source, token: url.searchParams.get('token'), ...(group === null ? {} : { group }) };
    for await (const pages of await this.#tidemark.devices.snapshot({ user, client }, call))
      lines.push(joinParts(renderLines(pages)));
    return answer(lines.join(''), 'application/x-ndjson');
  }

  #events({ user }: Session, url: URL, signal: AbortSignal | null): Response {
    const encoder = new TextEncoder();
    const takesPages = this.sendsPages && url.searchParams.has('pages');
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        const say = (name: string, data: unknown) =>
          controller.enqueue(encoder.encode(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`));
        const send = (change: Change) => {
          if (this.#listeners.has(listener)) say('changed', change);
        };
        let turn = Promise.resolve();
        const listener = (committed: Committed) => {
          const { partition } = committed;
          const { owner } = partition;
          if (owner.kind === 'group' || (owner.kind === 'user' && owner.login !== user)) return;
          if (!takesPages) this.onChanged({ source: partition.source }, send);
          else turn = turn.then(async () => this.onChanged(await this.#liveChange(committed), send));
        };
        const end = () => {
          this.#streams.delete(end);
          if (this.#listeners.delete(listener))
            controller.error(signal?.reason ?? new TypeError('the connection broke'));
        };
        this.#listeners.add(listener);
        this.#streams.add(end);
        signal?.addEventListener('abort', end);
        // The caller may have gone while its device was checked.
        if (signal?.aborted) end();
        else say('ready', { heartbeat_s: 30 });
      },
    });
    return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
  }

  async #liveChange({ partition, range }: Committed): Promise<Change> {
    const { source } = partition;
    const live = range === undefined ? null : await this.#tidemark.devices.livePage(partition, range);
    return live === null ? { source } : (parseJson(renderChange(source, live)) as Change);
  }
}

function json(body: unknown): Response {
  return answer(JSON.stringify(body));
}

function answer(text: string, type = 'application/json'): Response {
  return new Response(text, { headers: { 'content-type': type } });
}

function refused(error: unknown): Response {
  if (!(error instanceof Refusal)) throw error;
  const { status, code, message } = error;
  return new Response(JSON.stringify({ status, code, detail: message }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });
}
