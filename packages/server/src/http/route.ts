import type { ServerResponse } from 'node:http';
import type { Bearer, ChangeObserver, Jobs, PingResults, Pings, Tidemark } from '@tidemark/core';
import type { RefusalCode, SettingInForce } from '@tidemark/protocol';
import type { Static, TSchema } from '@tidemark/protocol/typebox';
import type { FastifyRequest } from 'fastify';
import type { ActivityFact } from '../activity/activity-filter.ts';
import type { ActivityHistory } from '../activity/activity-history.ts';
import type { ActivityHub } from '../activity/activity-hub.ts';
import type { RouteScope } from '../auth/authenticate.ts';
import type { LoginLimiter } from '../auth/login-limiter.ts';
import type { RateLimiter } from '../auth/rate-limiter.ts';
import type { SignInLimits } from '../auth/sign-in-limits.ts';
import type { HttpBackend } from '../backend/http-backend.ts';
import type { Backups } from '../backups/backups.ts';
import type { ScheduledBackups } from '../backups/scheduled-backups.ts';
import type { Cluster, ClusterNotice } from '../cluster/cluster.ts';
import type { ClusterDevices } from '../cluster/cluster-devices.ts';
import type { Connectors } from '../connectors/connectors.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { FileTransfers } from '../files/file-transfers.ts';
import type { IdentityProviders } from '../identity/identity-providers.ts';
import type { KeyedLimit } from '../primitives/keyed-limit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TextPart } from './coding/text-parts.ts';
import type { ListSlots } from './list-slots.ts';
import type { SnapshotSlots } from './snapshot-slots.ts';

/** The services that handlers of routes use. */
export interface RouteContext {
  readonly tidemark: Tidemark;
  readonly pings: Pings;
  readonly jobs: Jobs;
  readonly results: PingResults;
  /** The public key that browsers subscribe with. */
  readonly webPushKey: string;
  readonly limiter: LoginLimiter;
  readonly signIns: SignInLimits;
  readonly rates: Pick<RateLimiter, 'take'>;
  readonly providers: Pick<IdentityProviders, 'names' | 'signIn' | 'admins'>;
  readonly nowMs: () => number;
  readonly tokenTtlMs: number;
  readonly deviceTokenTtlMs: number;
  readonly events: EventHub;
  /** The devices that listen for events at any server. */
  readonly liveDevices: Pick<ClusterDevices, 'isListening' | 'listeningOf'>;
  readonly snapshots: SnapshotSlots;
  /** Limits the filtered and sorted lists that are made at once. */
  readonly lists: ListSlots;
  readonly cluster: Pick<Cluster, 'announce'>;
  readonly metrics: Metrics;
  /** Shows what happens to administrators who watch. */
  readonly activity: ActivityHub;
  /** What happened in the last hours; null: it is not kept. */
  readonly history: Pick<ActivityHistory, 'search'> | null;
  /** The state of the backend, and calls that routes make to it. */
  readonly backend: Pick<HttpBackend, 'health' | 'authenticate' | 'probe' | 'lastFailures'>;
  /** Limits the concurrent searches of a device. */
  readonly searches: KeyedLimit;
  readonly backups: Backups;
  readonly files: FileTransfers;
  /** The connectors of the configuration. */
  readonly connectors: Pick<Connectors, 'has' | 'check'>;
  /** Null: no backup is made by schedule. */
  readonly scheduledBackups: Pick<ScheduledBackups, 'read'> | null;
  /** The address under which browsers reach the server; null: that of the request. */
  readonly publicUrl: string | null;
  /** Every setting with its origin. */
  readonly settings: readonly SettingInForce[];
  /** True if the secret is set by the configuration. It is then never shown by the API. */
  readonly isBackendSecretConfigured: boolean;
}

/** One request, authenticated and validated. */
export interface Call<P, Q, B> {
  readonly context: RouteContext;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Null on public routes. */
  readonly bearer: Bearer | null;
  readonly accept: string | undefined;
  readonly address: string;
  /** The request behind the call, for routes that deal with cookies. */
  readonly request: Pick<FastifyRequest, 'method' | 'headers' | 'protocol' | 'host' | 'isSecure' | 'bearer'>;
  /** Wants to know which objects the call changes, for the audit trail. */
  readonly observer?: ChangeObserver | undefined;
  /** True: the caller has hung up, and nobody waits for the answer. */
  readonly hasHungUp: () => boolean;
}

/** Plain text instead of JSON. */
export class TextAnswer {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON that is text already and is sent unchanged. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Says when an answer may be sent again to the same caller for the same request. */
export interface Repeatable {
  /** Resolves to true while the request, handled again, would get the same answer. It need not check the caller. */
  readonly isCurrent: () => Promise<boolean>;
  /** Called when the answer is sent again. */
  readonly onRepeated: () => void;
}

/** JSON in pieces, some of which are shared between answers. It is compressed if the caller allows. */
export class JsonParts {
  readonly parts: readonly TextPart[];
  /** Null: the request must be handled again. */
  readonly repeatable: Repeatable | null;

  constructor(parts: readonly TextPart[], repeatable: Repeatable | null = null) {
    this.parts = parts;
    this.repeatable = repeatable;
  }
}

/** JSON lines. The next line is read when the one before has been handed to the socket. */
export class JsonLines {
  readonly lines: AsyncIterable<readonly TextPart[]>;
  /** Called when the answer has ended, whether complete or not. */
  readonly onEnd: () => void;

  constructor(lines: AsyncIterable<readonly TextPart[]>, onEnd: () => void = () => undefined) {
    this.lines = lines;
    this.onEnd = onEnd;
  }
}

/** A file of known size. The next chunk is read when the one before has been handed to the socket. */
export class FileAnswer {
  readonly name: string;
  readonly bytes: number;
  readonly chunks: AsyncIterable<Buffer>;
  /** Called when the answer has ended, whether complete or not. */
  readonly onEnd: () => void;

  constructor(file: Pick<FileAnswer, 'name' | 'bytes' | 'chunks' | 'onEnd'>) {
    this.name = file.name;
    this.bytes = file.bytes;
    this.chunks = file.chunks;
    this.onEnd = file.onEnd;
  }
}

/** Bytes, or nothing, with a status and headers of its own. The next chunk is read when the one before has been sent. */
export class BytesAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the headers are all. */
  readonly chunks: AsyncIterable<Uint8Array> | null;
  /** Called when the answer has ended, whether complete or not. */
  readonly onEnd: () => void;

  constructor(
    status: number,
    headers: Readonly<Record<string, string>>,
    chunks: AsyncIterable<Uint8Array> | null = null,
    onEnd: () => void = () => undefined,
  ) {
    this.status = status;
    this.headers = headers;
    this.chunks = chunks;
    this.onEnd = onEnd;
  }
}

/** An answer that sets cookies. */
export class CookieAnswer {
  readonly answer: unknown;
  /** The values of the header `Set-Cookie`. */
  readonly cookies: readonly string[];

  constructor(answer: unknown, ...cookies: readonly string[]) {
    this.answer = answer;
    this.cookies = cookies;
  }
}

/** A stream of events. `take` receives the response and owns it from then on. */
export class EventStream {
  /** Returns the function to call when the caller is gone. */
  readonly take: (response: ServerResponse) => () => void;

  constructor(take: (response: ServerResponse) => () => void) {
    this.take = take;
  }
}

/** The content types of answers that are streams. */
export type StreamType =
  | 'text/event-stream'
  | 'application/x-ndjson'
  | 'application/x-tar'
  | 'application/octet-stream';

/** The part of a route that the API description shows. */
export interface Operation<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema> {
  readonly method: 'GET' | 'HEAD' | 'OPTIONS' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /**
   * The name of the operation in generated clients; it never changes. Where the backend SDK has a method, it is the
   * same name.
   */
  readonly operationId: string;
  readonly scope: RouteScope;
  readonly summary: string;
  /** Details beyond the summary. */
  readonly description?: string;
  /**
   * Codes the route can refuse with, besides those that follow from its scope, parameters and body
   * (route-refusals.ts).
   */
  readonly refusals?: readonly RefusalCode[];
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly answer: TSchema;
  /** The type of the stream, if the route answers with one; `answer` is then the schema of one line. */
  readonly streams?: StreamType;
  /** The status of the answer; absent: 200. */
  readonly status?: 200 | 201 | 204;
  /** True: the body is bytes of any type, which the handler gets as a stream. */
  readonly takesBytes?: true;
  /** True if the route also answers with plain text, which is the default unless the caller prefers JSON. */
  readonly isText?: true;
}

/** A fact for the activity, and the objects it is about. */
export interface ShownFact {
  readonly fact: ActivityFact;
  /** Only called if a reader wants the data. */
  readonly data?: (() => unknown) | undefined;
}

/** A route as data; `handle` only does the work of the route itself. */
export interface Route<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema>
  extends Operation<P, Q, B> {
  /** The largest body, if it is smaller than the configured one. */
  readonly bodyBytesMax?: number;
  /** The action in the audit trail; routes without one are not audited. */
  readonly audit?: string;
  /**
   * True: only calls of the console's session are audited, with the objects they change. Backends call the same routes
   * with tokens, thousands of times.
   */
  readonly isAuditedByHandOnly?: true;
  /** Returns the target of the audit entry, if it is not the path. */
  readonly auditTarget?: (answer: unknown) => string;
  /** Returns the result in the audit entry, if it is not `ok`. */
  readonly auditResult?: (answer: unknown) => string;
  /** Returns the actor of the audit entry, if the request does not name it. */
  readonly auditActor?: (answer: unknown) => string;
  /** The name under which the statistics count the route for the source in its path. */
  readonly operation?: string;
  /** What a login at this route is for. Logins are shown as such in the activity, whether they succeed or not. */
  readonly loginAs?: 'administrator' | 'device';
  /** Returns what the activity shows of a successful call. Only called while somebody reads it, or it is kept. */
  readonly activity?: (call: Call<Static<P>, Static<Q>, Static<B>>, answer: unknown) => readonly ShownFact[];
  /** Whether a successful answer tells of failures, which are always shown and kept. */
  readonly hasFailures?: (answer: unknown) => boolean;
  /** What is announced to all servers after the route has succeeded. */
  readonly announces?: ClusterNotice;
  readonly handle: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
}

/** Checks the types of a route definition. */
export function route<P extends TSchema, Q extends TSchema, B extends TSchema>(definition: Route<P, Q, B>): Route {
  return definition as unknown as Route;
}
