import type { Bearer } from '@tidemark/core';
import { pointer, Refusal } from '@tidemark/protocol';
import { ACTIVITY_KINDS, ActivityHistoryPage, type ActivityKind } from '@tidemark/protocol/activity-schemas';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import type { ActivityFilter } from '../activity/activity-filter.ts';
import { EventStream, type RouteContext, route } from '../http/route.ts';
import { ACTIVITY_RECENT_MAX, HISTORY_PAGE_MAX } from '../limits.ts';
import { wholeNumber } from './paging.ts';

/** Which events somebody wants. */
const FILTER = {
  user_id: Type.Optional(text('Only events that concern this user.', 'anna')),
  client_id: Type.Optional(text('Only events that concern this device.', 'c3f1a2b4')),
  source_id: Type.Optional(text('Only events that concern this source.', 'Product')),
  kind: Type.Optional(text(`Only these kinds, separated by commas: ${ACTIVITY_KINDS.join(', ')}.`, 'push,upload')),
};

const watch = route({
  method: 'GET',
  path: '/rc/v1/activity',
  operationId: 'activityWatch',
  scope: 'read',
  summary: 'Stream of what happens on all servers',
  description:
    'Server-Sent Events: `ready` first, then `activity` with an event each. A busy server shows a sample: `dropped` tells how many events were left out. `ended` comes last when the token ends. `docs/operating/monitoring.md` explains the bounds.',
  refusals: ['invalid_value', 'forbidden', 'overloaded'],
  query: Type.Object(
    {
      ...FILTER,
      recent: Type.Optional(
        text(
          `How many events of the last day come first, 0 to ${ACTIVITY_RECENT_MAX}. Absent: ${ACTIVITY_RECENT_MAX}.`,
          '0',
        ),
      ),
      include: Type.Optional(text('`data`: events carry the objects. Needs a token with the scope `admin`.', 'data')),
    },
    closed,
  ),
  answer: Type.String({
    description: 'Server-Sent Events; docs/operating/monitoring.md lists them.',
    examples: ['event: activity\ndata: {"kind":"login","at":"2030-01-31T12:00:00.000Z","user_id":"anna"}\n\n'],
  }),
  streams: 'text/event-stream',
  handle: async ({ context, query, bearer }) => {
    if (bearer === null) throw new Error('a route with a scope was called without a bearer');
    const filter = { ...filterIn(query), hasData: includesData(query.include, bearer) };
    const reader = { user: bearer.user, tokenHash: bearer.tokenHash };
    const limit = countIn('recent', query.recent, { min: 0, max: ACTIVITY_RECENT_MAX, fallback: ACTIVITY_RECENT_MAX });
    context.activity.requireRoom(reader);
    const recent = limit === 0 ? [] : await recentEvents(context, filter, limit);
    // Others may have opened streams meanwhile.
    context.activity.requireRoom(reader);
    return new EventStream((response) => context.activity.open(reader, filter, response, recent));
  },
});

/** Returns the last events, oldest first. Without them the stream is as useful as before, so a failure is no refusal. */
async function recentEvents(
  { history }: RouteContext,
  filter: HistoryFilter,
  limit: number,
): Promise<readonly object[]> {
  const search = { ...filter, isFailedOnly: false, text: null, after: null, limit };
  const page = await history?.search(search).catch(() => null);
  return page?.events.toReversed() ?? [];
}

const searchHistory = route({
  method: 'GET',
  path: '/rc/v1/activity/history',
  operationId: 'activityHistory',
  scope: 'read',
  summary: 'What happened on all servers within the last day, newest first',
  description:
    'Refusals, refused uploads, failed refreshes, failed calls of the backend and pings, and a sample of what succeeded. `activity.keep_h` and `activity.events_max` bound it. A page may be empty and not the last: go on with `next` until it is null.',
  refusals: ['invalid_value'],
  query: Type.Object(
    {
      ...FILTER,
      failed: Type.Optional(text('`true`: only refusals and failures.', 'true')),
      text: Type.Optional(text('Only events that contain this text: a code, a route, an id.', 'quota_exceeded')),
      after: Type.Optional(text('Where the previous page ended: its `next`.', '0kz8m1q7v-x1Yb7QmZpK2v-00000a')),
      limit: Type.Optional(text(`How many at most, 1 to ${HISTORY_PAGE_MAX}. Absent: 100.`, '100')),
    },
    closed,
  ),
  answer: ActivityHistoryPage,
  handle: async ({ context: { history, nowMs }, query }) => {
    const { after = null, failed, text: wanted } = query;
    if (failed !== undefined && failed !== 'true' && failed !== 'false')
      throw invalid('failed', 'must be true or false');
    if (after !== null && !POSITION.test(after)) throw invalid('after', 'must be the next of a page');
    const limit = countIn('limit', query.limit, { min: 1, max: HISTORY_PAGE_MAX, fallback: 100 });
    const found = await history?.search({
      ...filterIn(query),
      isFailedOnly: failed === 'true',
      text: wanted === undefined ? null : wanted.toLowerCase(),
      after,
      limit,
    });
    return found ?? { events: [], next: null, complete_from: new Date(nowMs()).toISOString(), left_out: 0 };
  },
});

const POSITION = /^[0-9a-z]{9}[-~][\w-]{0,40}$/;

interface FilterQuery {
  readonly user_id?: string;
  readonly client_id?: string;
  readonly source_id?: string;
  readonly kind?: string;
}

type HistoryFilter = Omit<ActivityFilter, 'hasData'>;

function filterIn({ user_id, client_id, source_id, kind }: FilterQuery): HistoryFilter {
  const kinds = kind === undefined ? null : kindsIn(kind);
  return { user: user_id ?? null, client: client_id ?? null, source: source_id ?? null, kinds };
}

function countIn(
  name: string,
  given: string | undefined,
  { min, max, fallback }: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  const value = given === undefined ? fallback : wholeNumber(name, given);
  if (value >= min && value <= max) return value;
  throw invalid(name, `must be a whole number from ${min} to ${max}`);
}

function kindsIn(list: string): readonly ActivityKind[] {
  return list.split(',').map((name) => {
    const kind = ACTIVITY_KINDS.find((known) => known === name.trim());
    if (kind !== undefined) return kind;
    throw invalid('kind', `must be one or more of ${ACTIVITY_KINDS.join(', ')}, separated by commas`);
  });
}

function includesData(include: string | undefined, { scopes }: Bearer): boolean {
  if (include === undefined) return false;
  if (include !== 'data') throw invalid('include', 'must be data, if it is given');
  if (scopes.includes('admin')) return true;
  throw new Refusal('forbidden', 'include=data needs a token with the scope admin');
}

function invalid(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

export const activityRoutes = [watch, searchHistory];
