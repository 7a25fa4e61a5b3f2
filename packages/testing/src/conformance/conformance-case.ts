import type { RefusalCode } from '@tidemark/protocol';
import type { Answer, Outgoing } from './sender.ts';

/** What a server must offer beyond the specification's routes for a case to be run against it. */
export type Capability =
  /** Devices can be made. They register themselves by the device protocol, which is not part of the REST API. */
  | 'devices'
  /** Jobs can be left in a queue, which no route does. */
  | 'jobs'
  /** What belongs to the whole server may be changed, and everything on it emptied. */
  | 'whole_server';

/** A request. `{word}` in the path, in header values and in texts stands for what an earlier answer gave. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it stands. */
  readonly text?: string;
  /** The administrator's token goes along unless this says otherwise. */
  readonly token?: 'none';
}

/** The answer a request must get. */
export type Expected =
  | { readonly kind: 'json'; readonly body: unknown }
  | { readonly kind: 'text'; readonly body: unknown }
  | {
      readonly kind: 'refused';
      readonly code: RefusalCode;
      /** Where in the request the flaws are, when that is part of the case. */
      readonly pointers?: readonly string[];
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** JSON line by line. */
  | { readonly kind: 'lines'; readonly lines: readonly unknown[] }
  /** A stream of events that begins with these. */
  | { readonly kind: 'events'; readonly text: unknown }
  /** The detail alone, for callers who prefer plain text. */
  | { readonly kind: 'refused_text'; readonly code: RefusalCode }
  /** Measurements in the format of Prometheus. */
  | { readonly kind: 'metrics' }
  /** A status without a body, as HEAD gets it. */
  | { readonly kind: 'bare'; readonly status: number };

/** Something that must be done on the server before the next request, which no route does. */
export interface DeviceStep {
  readonly device: { readonly user: string; readonly attributes: Readonly<Record<string, unknown>> };
}

export interface JobStep {
  readonly job: { readonly queue: string; readonly state: 'due' | 'dead' };
}

export type Exchange = readonly [sent: Sent, expected: Expected];
export type Step = Exchange | DeviceStep | JobStep;

/** Makes names that nobody else on the server has. */
export type Naming = (name: string) => string;

/** One promise of the REST API, as data: what is sent, and what must come back. */
export interface ConformanceCase {
  /** The rule of docs/rules.md it holds. */
  readonly rule: string;
  readonly title: string;
  readonly needs?: readonly Capability[];
  readonly steps: (name: Naming) => readonly Step[];
}

/** A server that cases are run against. */
export interface ServerUnderTest {
  readonly send: (outgoing: Outgoing) => Promise<Answer>;
  /** A token of an administrator, with all scopes. */
  readonly token: string;
  /** The login and password that gave the token: what cases may log in with, and what no answer may repeat. */
  readonly login: string;
  readonly password: string;
  /** Makes the names of this run different from those of every other. */
  readonly word: string;
  readonly registerDevice?: (user: string, attributes: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly leaveJob?: (queue: string, state: 'due' | 'dead') => Promise<void>;
  readonly isOurs: boolean;
  /** Sees every request with its answer, whatever comes of it. */
  readonly observe?: (outgoing: Outgoing, answer: Answer) => void;
}
