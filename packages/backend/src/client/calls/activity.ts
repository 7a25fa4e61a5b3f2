import type { ActivityEvent, ActivityKind } from '@tidemark/protocol';
import { parseJson } from '@tidemark/protocol';
import { TidemarkError } from '../tidemark-error.ts';
import type { CallOptions, Transport } from '../transport.ts';

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
  /** Called when the server has begun to send. Events before that are not shown. */
  readonly onReady?: () => void;
  /** Called with the number of events that a busy server, or a slow reader, has left out. */
  readonly onDropped?: (count: number) => void;
}

/** The longest event, in UTF-16 units. Longer ones are not from Tidemark. */
const EVENT_UNITS_MAX = 1_000_000;

/** What happens on all servers, as it happens. */
export class ActivityCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /**
   * Iterates over events until the signal aborts or the loop is left. When the connection breaks or the token ends it
   * throws; events that happen meanwhile are not made up for.
   */
  async *watch(options: ActivityOptions = {}): AsyncGenerator<ActivityEvent, void> {
    const { user, client, source, kinds, data, onReady, onDropped, ...call } = options;
    const query = {
      user_id: user,
      client_id: client,
      source_id: source,
      kind: kinds?.join(','),
      include: data === true ? 'data' : undefined,
    };
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
