import type { RefusalCode } from '@tidemark/protocol';
import type { Answer, Outgoing } from '../kit/sender.ts';

/** What a case needs of a server beyond the routes of the specification. */
export type Capability =
  /** Devices can be registered, by the device protocol, which is not part of the REST API. */
  | 'devices'
  /** Jobs can be enqueued, which no route does. */
  | 'jobs'
  /** The store is embedded, and the case may make backups on the disk of the server. */
  | 'backups'
  /** The case may change settings of the whole server and delete all data. */
  | 'whole_server';

/** A request. `{word}` in the path, in header values and in texts is replaced by a value of an earlier answer. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent unchanged. */
  readonly text?: string;
  /** The request has the administrator's token unless this says otherwise. */
  readonly token?: 'none';
}

/** The answer a request must get. */
export type Expected =
  | { readonly kind: 'json'; readonly body: unknown }
  | { readonly kind: 'text'; readonly body: unknown }
  | {
      readonly kind: 'refused';
      readonly code: RefusalCode;
      /** JSON pointers to the errors in the request, if the case checks them. */
      readonly pointers?: readonly string[];
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** A tar archive, or a file of another type. */
  | { readonly kind: 'file'; readonly type?: string }
  /** One JSON text per line. */
  | { readonly kind: 'lines'; readonly lines: readonly unknown[] }
  /** A stream of events that begins with these. */
  | { readonly kind: 'events'; readonly text: unknown }
  /** The detail alone, as plain text. */
  | { readonly kind: 'refused_text'; readonly code: RefusalCode }
  /** Measurements in the format of Prometheus. */
  | { readonly kind: 'metrics' }
  /** A status without a body, as HEAD gets it. */
  | { readonly kind: 'bare'; readonly status: number };

/** An action on the server before the next request, which no route does. */
export interface DeviceStep {
  readonly device: { readonly user: string; readonly attributes: Readonly<Record<string, unknown>> };
}

export interface JobStep {
  readonly job: { readonly queue: string; readonly state: 'due' | 'dead' };
}

export type Exchange = readonly [sent: Sent, expected: Expected];
export type Step = Exchange | DeviceStep | JobStep;

/** Returns names that nobody else on the server has. */
export type Naming = (name: string) => string;

/** One promise of the REST API as data: what is sent, and the expected answer. */
export interface ConformanceCase {
  /** The rule of docs/rules.md that it checks. */
  readonly rule: string;
  readonly title: string;
  readonly needs?: readonly Capability[];
  readonly steps: (name: Naming) => readonly Step[];
}

/** The server under test. */
export interface ServerUnderTest {
  readonly send: (outgoing: Outgoing) => Promise<Answer>;
  /** A token of an administrator, with all scopes. */
  readonly token: string;
  /** The login and password of the administrator: cases may log in with them, and no answer may contain them. */
  readonly login: string;
  readonly password: string;
  /** A prefix that makes the names of this run unique. */
  readonly word: string;
  readonly registerDevice?: (user: string, attributes: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly leaveJob?: (queue: string, state: 'due' | 'dead') => Promise<void>;
  readonly isOurs: boolean;
  /** True: the store is embedded, and the server is ours. */
  readonly hasBackups?: boolean;
  /** Called with every request and its answer. */
  readonly observe?: (outgoing: Outgoing, answer: Answer) => void;
}
