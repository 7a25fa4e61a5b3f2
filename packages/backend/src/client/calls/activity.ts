import type { ActivityEvent, ActivityHistoryPage, ActivityKind } from '@tidemark/protocol';
import { parseJson } from '@tidemark/protocol';
import { TidemarkError } from '../../transport/tidemark-error.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';

export interface ActivityOptions extends CallOptions {
  /** Only events that concern this user. */
  readonly user?: string;
  /** Only events that concern this device. */
  readonly client?: string;
  /** Only events that concern this source. */
  readonly source?: string;
  readonly kinds?: readonly ActivityKind[];
  /** True: events carry the objects. Needs a token with the scope `admin`. */
  readonly data?: boolean;
  /** How many events of the last day come first, 0 to 200. Absent: 200. */
  readonly recent?: number;
  /** Called when the server has begun to send. */
  readonly onReady?: () => void;
  /** Called with the number of events that a busy server, or a slow reader, has left out. */
  readonly onDropped?: (count: number) => void;
}

export interface ActivityHistoryOptions
  extends Pick<ActivityOptions, 'user' | 'client' | 'source' | 'kinds'>,
    CallOptions {
  /** True: only refusals and failures. */
  readonly failed?: boolean;
  /** Only events that contain this text: a code, a route, an id. */
  readonly text?: string;
  /** The `next` of the previous page. */
  readonly after?: string;
  readonly limit?: number;
}

/** The longest event, in UTF-16 units. Longer ones are not from Tidemark. */
const EVENT_UNITS_MAX = 1_000_000;

/** What happens on all servers, as it happens, and what happened within the last day. */
export class ActivityCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /**
   * What happened within the last day, newest first: refusals, failures, pings, and a sample of what succeeded. A page may
   * be empty and not the last: go on with `next` as `after` until it is null.
   */
  history(options: ActivityHistoryOptions = {}): Promise<ActivityHistoryPage> {
    const { user, client, source, kinds, failed, text, after, limit, ...call } = options;
    const filter = filterQuery({ user, client, source, kinds });
    const query = { ...filter, failed: failed === true ? 'true' : undefined, text, after, limit };
    return this.#api.get('/rc/v1/activity/history', call, query);
  }

  /**
   * Iterates over events until the signal aborts or the loop is left. When the connection breaks or the token ends it
   * throws; events that happen meanwhile are not made up for.
   */
  async *watch(options: ActivityOptions = {}): AsyncGenerator<ActivityEvent, void> {
    const { user, client, source, kinds, data, recent, onReady, onDropped, ...call } = options;
    const include = data === true ? 'data' : undefined;
    const query = { ...filterQuery({ user, client, source, kinds }), recent, include };
    const request = { method: 'GET', path: '/rc/v1/activity', query, repetition: 'harmless' } as const;
    const bytes = await this.#api.stream({ ...request, accept: 'text/event-stream' }, call);
    for await (const { name, json } of eventsIn(bytes)) {
      if (name === 'activity') yield parseJson(json) as ActivityEvent;
      else if (name === 'ready') onReady?.();
      else if (name === 'dropped') onDropped?.((parseJson(json) as { readonly count: number }).count);
      else if (name === 'ended') throw new TidemarkError('token_invalid', 'the token has ended', { status: 401 });
    }
  }
}

type Filter = { readonly [Name in 'user' | 'client' | 'source' | 'kinds']: ActivityOptions[Name] | undefined };

function filterQuery({ user, client, source, kinds }: Filter) {
  return { user_id: user, client_id: client, source_id: source, kind: kinds?.join(',') };
}

interface NamedEvent {
  readonly name: string;
  readonly json: string;
}

/** Splits Server-Sent Events in the form that Tidemark sends them: one line with the name, one with the data. */
async function* eventsIn(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<NamedEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of bytes) {
    text += decoder.decode(chunk, { stream: true });
    const parts = text.split('\n\n');
    text = parts.pop() ?? '';
    if (text.length > EVENT_UNITS_MAX) throw new TidemarkError('unexpected_answer', 'an event is too long');
    for (const part of parts) {
      const [, name, json] = /^event: (\w+)\ndata: (.*)$/.exec(part) ?? [];
      if (name !== undefined && json !== undefined) yield { name, json };
    }
  }
}
