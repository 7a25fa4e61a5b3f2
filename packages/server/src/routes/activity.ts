import type { Bearer } from '@tidemark/core';
import { pointer, Refusal } from '@tidemark/protocol';
import { ACTIVITY_KINDS, type ActivityKind } from '@tidemark/protocol/activity-schemas';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { EventStream, route } from '../http/route.ts';

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
      user_id: Type.Optional(text('Only events that concern this user.', 'anna')),
      client_id: Type.Optional(text('Only events that concern this device.', 'c3f1a2b4')),
      source_id: Type.Optional(text('Only events that concern this source.', 'Product')),
      kind: Type.Optional(text(`Only these kinds, separated by commas: ${ACTIVITY_KINDS.join(', ')}.`, 'push,upload')),
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
    const filter = {
      user: query.user_id ?? null,
      client: query.client_id ?? null,
      source: query.source_id ?? null,
      kinds: query.kind === undefined ? null : kindsIn(query.kind),
      hasData: includesData(query.include, bearer),
    };
    const reader = { user: bearer.user, tokenHash: bearer.tokenHash };
    context.activity.requireRoom(reader);
    return new EventStream((response) => context.activity.open(reader, filter, response));
  },
});

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

export const activityRoutes = [watch];
