import { pointer, RECEIPT_WAIT_S_MAX, Refusal } from '@tidemark/protocol';
import { Receipt } from '@tidemark/protocol/admin/delivery';
import { count } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { pageOf } from './paging.ts';
import { GroupId, pageQuery, SourceId, UserId } from './shapes.ts';

const WaitS = Type.Integer({
  minimum: 0,
  maximum: RECEIPT_WAIT_S_MAX,
  description: 'Wait up to so many seconds until all devices have it that were seen in the last 24 hours.',
  examples: [30],
});

const receipts = route({
  method: 'GET',
  path: '/rc/v1/sources/:source_id/receipts',
  operationId: 'sourcesReceipts',
  scope: 'read',
  summary: 'Which devices have acknowledged a push',
  description:
    'Counts the devices that have acknowledged a `seq`, which every push answers with, and lists those that have not. Only what a device presented as its token counts.',
  refusals: ['source_not_found', 'user_not_found', 'invalid_name', 'invalid_value', 'group_required', 'overloaded'],
  params: Type.Object({ source_id: SourceId }),
  query: pageQuery('the `next` of it', '0.1040.c3f1a2b4', {
    user_id: Type.Optional(UserId),
    group: Type.Optional(GroupId),
    seq: Type.Optional(Type.String(documentedAs(count('The seq of the push. Absent: the newest.', 1042)))),
    wait_s: Type.Optional(Type.String(documentedAs(WaitS))),
  }),
  answer: Receipt,
  handle: ({ context, params, query, hasHungUp }) => {
    const { user_id, group, seq, wait_s } = query;
    const call = {
      source: params.source_id,
      ...(user_id === undefined ? {} : { user_id }),
      ...(group === undefined ? {} : { group }),
      ...(seq === undefined ? {} : { seq: wholeNumber('seq', seq, Number.MAX_SAFE_INTEGER) }),
      ...pageOf(query),
    };
    const { receipts: reader } = context.tidemark;
    if (wait_s === undefined) return reader.read(call);
    const waitMs = wholeNumber('wait_s', wait_s, RECEIPT_WAIT_S_MAX) * 1_000;
    return reader.wait(call, { waitMs, isOver: hasHungUp });
  },
});

function wholeNumber(name: string, text: string, max: number): number {
  if (/^[0-9]{1,15}$/.test(text) && Number(text) <= max) return Number(text);
  const detail = `must be a whole number from 0 to ${max}`;
  throw new Refusal('invalid_request', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}

export const receiptRoutes = [receipts];
