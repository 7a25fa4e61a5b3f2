import type { ServerResponse } from 'node:http';
import type { Bearer, Jobs, PingResults, Pings, Tidemark } from '@tidemark/core';
import type { RefusalCode } from '@tidemark/protocol';
import type { Static, TSchema } from 'typebox';
import type { RouteScope } from '../auth/authenticate.ts';
import type { LoginLimiter } from '../auth/login-limiter.ts';
import type { HttpBackend } from '../backend/http-backend.ts';
import type { Cluster, ClusterNotice } from '../cluster/cluster.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { KeyedLimit } from '../primitives/keyed-limit.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TextPart } from './coding/text-parts.ts';
import type { SnapshotSlots } from './snapshot-slots.ts';

/** What the handlers of routes work with. */
export interface RouteContext {
  readonly tidemark: Tidemark;
  readonly pings: Pings;
  readonly jobs: Jobs;
  readonly results: PingResults;
  /** The public key that browsers subscribe with. */
  readonly webPushKey: string;
  readonly limiter: LoginLimiter;
  readonly nowMs: () => number;
  readonly tokenTtlMs: number;
  readonly deviceTokenTtlMs: number;
  readonly events: EventHub;
  readonly snapshots: SnapshotSlots;
  readonly cluster: Pick<Cluster, 'announce'>;
  readonly metrics: Metrics;
  /** How the backend does. */
  readonly backend: Pick<HttpBackend, 'health' | 'authenticate' | 'probe'>;
  /** Bounds how many searches a device has under way. */
  readonly searches: KeyedLimit;
  /** Then it is not shown: whoever wrote it there knows it. */
  readonly isBackendSecretConfigured: boolean;
}

/** One request, read and admitted as far as the edge can. */
export interface Call<P, Q, B> {
  readonly context: RouteContext;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Null on public routes. */
  readonly bearer: Bearer | null;
  readonly accept: string | undefined;
  readonly address: string;
}

/** Plain text instead of JSON. */
export class TextAnswer {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON that is text already, and must not be written a second time. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON in pieces, some of which others are sent as well; it is compressed as the caller allows. */
export class JsonParts {
  readonly parts: readonly TextPart[];

  constructor(parts: readonly TextPart[]) {
    this.parts = parts;
  }
}

/** JSON line by line. The server asks for the next line when the one before it has been handed to the socket. */
export class JsonLines {
  readonly lines: AsyncIterable<readonly TextPart[]>;
  /** Called when the answer has ended, however it ended. */
  readonly onEnd: () => void;

  constructor(lines: AsyncIterable<readonly TextPart[]>, onEnd: () => void = () => undefined) {
    this.lines = lines;
    this.onEnd = onEnd;
  }
}

/** A stream of events: from here on the response is in the hands of whoever takes it. */
export class EventStream {
  /** Returns what is to be called when the caller is gone. */
  readonly take: (response: ServerResponse) => () => void;

  constructor(take: (response: ServerResponse) => () => void) {
    this.take = take;
  }
}

/** What a route answers when it is not JSON in one piece. */
export type StreamType = 'text/event-stream' | 'application/x-ndjson';

/** What the API description says of a route. */
export interface Operation<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** The name of the route in generated clients; it never changes. Where the backend SDK has a method, its name. */
  readonly operationId: string;
  readonly scope: RouteScope;
  readonly summary: string;
  /** What the summary does not say. */
  readonly description?: string;
  /** Codes it can answer with, besides those that follow from its scope, parameters and body (route-refusals.ts). */
  readonly refusals?: readonly RefusalCode[];
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  readonly answer: TSchema;
  /** Answered as a stream of this type; `answer` is then a line of it. */
  readonly streams?: StreamType;
  /** Also answered as plain text, which is the default unless the caller prefers JSON. */
  readonly isText?: true;
}

/** A route as data. Everything about it is said here: the handler only has to do its work. */
export interface Route<P extends TSchema = TSchema, Q extends TSchema = TSchema, B extends TSchema = TSchema>
  extends Operation<P, Q, B> {
  /** The largest body, where it is less than what the configuration allows. */
  readonly bodyBytesMax?: number;
  /** What the audit trail calls it; routes without one are not audited. */
  readonly audit?: string;
  /** What the trail names instead of the path, when only the answer says it. */
  readonly auditTarget?: (answer: unknown) => string;
  /** What the statistics call it for the source in its path, besides counting the route itself. */
  readonly operation?: string;
  /** What is announced to all servers after the route has succeeded. */
  readonly announces?: ClusterNotice;
  readonly handle: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
}

/** Keeps the types of a route's parts together while it is written down. */
export function route<P extends TSchema, Q extends TSchema, B extends TSchema>(definition: Route<P, Q, B>): Route {
  return definition as unknown as Route;
}
