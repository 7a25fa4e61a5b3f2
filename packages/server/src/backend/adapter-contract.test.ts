import {
  ADAPTER_OBJECTS,
  type AdapterArrival,
  adapterContract,
  answerJson,
  type Behaviour,
  collectingLog,
  openFakeBackend,
  seededRandom,
  settableClock,
} from '@tidemark/testing';
import { conflict, defineSource, rejected } from '../app/define-source.ts';
import { moduleAdapter } from '../app/module-adapter.ts';
import type { Timers } from '../jobs/timers.ts';
import { BackendHttp } from './backend-http.ts';
import { HttpBackend } from './http-backend.ts';

const TIMEOUT_MS = 20_000;

/** Timers that fire when the test says so. */
class ManualTimers implements Timers {
  readonly #waiting = new Set<() => void>();

  after(delayMs: number, callback: () => void): () => void {
    if (delayMs !== TIMEOUT_MS) return () => undefined;
    this.#waiting.add(callback);
    return () => this.#waiting.delete(callback);
  }

  fire(): void {
    for (const callback of [...this.#waiting]) callback();
  }
}

adapterContract('the backend over HTTP', async () => {
  const fake = await openFakeBackend(() => 's');
  const timers = new ManualTimers();
  let behaviour: Behaviour = 'good';
  const arrivals: AdapterArrival[] = [];
  fake.on('*', ({ call, body }, response) => {
    const { user_id, op_id, source: _source, partition: _partition, ...rest } = body;
    arrivals.push({
      call,
      user: user_id as string | null,
      ...(op_id === undefined ? {} : { opId: String(op_id) }),
      ...rest,
    });
    if (behaviour === 'silent') return;
    if (behaviour === 'conflict') return answerJson(response, { detail: 'because' }, 409);
    if (behaviour === 'rejected') return answerJson(response, { detail: 'because' }, 422);
    if (behaviour === 'broken') return answerJson(response, {}, 500);
    if (call === 'query' || call === 'search') return answerJson(response, ADAPTER_OBJECTS);
    answerJson(response, behaviour === 'no_id' ? { id: 7 } : { id: 'made' });
  });
  const clock = settableClock();
  const adapter = new HttpBackend({
    http: new BackendHttp({ resolve: async () => [], timers, rules: { denyPrivate: false } }),
    address: async () => fake.url,
    secret: async () => 's',
    clock,
    random: seededRandom(1),
    jitter: () => 0,
    log: collectingLog(),
    timeoutMs: TIMEOUT_MS,
    queryTimeoutMs: TIMEOUT_MS,
  });
  return {
    adapter,
    arrivals,
    // Enough time passes for the breaker to let the next call probe.
    behave: (next) => {
      behaviour = next;
      clock.advance(120_000);
    },
    letTimePass: () => timers.fire(),
    close: async () => {
      adapter.close();
      await fake.close();
    },
  };
});

adapterContract('source modules', async () => {
  const timers = new ManualTimers();
  let behaviour: Behaviour = 'good';
  const arrivals: AdapterArrival[] = [];
  const answer = async <T>(arrival: AdapterArrival, value: T): Promise<T> => {
    arrivals.push(arrival);
    if (behaviour === 'silent') return new Promise(() => undefined);
    if (behaviour === 'conflict') throw conflict('because');
    if (behaviour === 'rejected') throw rejected('because');
    if (behaviour === 'broken') throw new Error('broken');
    return value;
  };
  const definition = defineSource({
    query: ({ user }) => answer({ call: 'query', user }, ADAPTER_OBJECTS),
    search: ({ user, params }) => answer({ call: 'search', user, params }, ADAPTER_OBJECTS),
    create: ({ user, op_id, id, attributes }) =>
      answer({ call: 'create', user, opId: op_id, id, attributes }, behaviour === 'no_id' ? (7 as never) : 'made'),
    update: ({ user, op_id, id, attributes, removed }) =>
      answer({ call: 'update', user, opId: op_id, id, attributes, removed }, undefined),
    delete: ({ user, op_id, id }) => answer({ call: 'delete', user, opId: op_id, id }, undefined),
  });
  return {
    adapter: moduleAdapter(
      { name: 'Module', file: 'module.ts', definition },
      { timeoutMs: TIMEOUT_MS, queryTimeoutMs: TIMEOUT_MS, timers, log: collectingLog() },
    ),
    arrivals,
    behave: (next) => {
      behaviour = next;
    },
    letTimePass: () => timers.fire(),
    close: async () => undefined,
  };
});
