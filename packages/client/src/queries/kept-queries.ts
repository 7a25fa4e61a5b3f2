import { ClientError } from '../client-error.ts';
import { QUERIES_KEPT_MAX } from '../limits.ts';
import type { QueryOptions } from './query-options.ts';

interface Keepable {
  readonly isLive: boolean;
}

/** Queries by their options. Those that are live, or were used lately, are kept, so that the same options give the same query. */
export class KeptQueries<Q extends Keepable> {
  /** The one that was used last at the end. */
  readonly #queries = new Map<string, Q>();
  readonly #onDropped: (query: Q) => void;

  constructor(onDropped: (query: Q) => void = () => undefined) {
    this.#onDropped = onDropped;
  }

  get size(): number {
    return this.#queries.size;
  }

  of(options: QueryOptions, make: () => Q): Q {
    const key = keyOf(options);
    const query = this.#queries.get(key) ?? make();
    this.#queries.delete(key);
    this.#queries.set(key, query);
    if (this.#queries.size > QUERIES_KEPT_MAX) this.#dropOldest(query);
    return query;
  }

  #dropOldest(newest: Q): void {
    for (const [key, query] of this.#queries) {
      if (query.isLive || query === newest) continue;
      this.#queries.delete(key);
      this.#onDropped(query);
      return;
    }
  }
}

function keyOf({ where, orderBy, limit, offset, include = {} }: QueryOptions): string {
  const relations = Object.entries(include).map(([name, relation]) =>
    typeof relation === 'string' || typeof relation.source === 'string'
      ? [name, relation]
      : [name, { ...relation, source: relation.source.name }],
  );
  const members = [where ?? {}, orderBy ?? [], limit ?? null, offset ?? 0, relations];
  return JSON.stringify(members, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    return value === this[name] && isJson(value) ? value : refuse(name);
  });
}

function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'object';
}

function refuse(name: string): never {
  throw new ClientError('invalid_request', `"${name}" of a query: expected JSON; dates must be texts or numbers`);
}
