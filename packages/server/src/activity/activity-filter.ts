import type { ActivityEvent, ActivityKind } from '@tidemark/protocol';

/** What a reader wants to see. Null: everything. */
export interface ActivityFilter {
  readonly user: string | null;
  readonly client: string | null;
  readonly source: string | null;
  readonly kinds: readonly ActivityKind[] | null;
  /** True if events carry the data of objects. */
  readonly hasData: boolean;
}

type Distribute<T> = T extends unknown ? Omit<T, 'at' | 'server' | 'request_id' | 'data'> : never;

/** An event without what the hub adds. */
export type ActivityFact = Distribute<ActivityEvent>;

export function matches({ user, client, source, kinds }: ActivityFilter, fact: ActivityFact): boolean {
  if (kinds !== null && !kinds.includes(fact.kind)) return false;
  if (user !== null && fact.user_id !== user) return false;
  if (client !== null && fact.client_id !== client) return false;
  return source === null || fact.source === source || (fact.kind === 'ping' && fact.sources.includes(source));
}

/** Returns the event as all readers get it, live or later: equal events have equal texts. */
export function eventOf({ kind, ...rest }: ActivityFact, stamp: object): ActivityFact {
  return { kind, ...stamp, ...rest } as ActivityFact;
}
