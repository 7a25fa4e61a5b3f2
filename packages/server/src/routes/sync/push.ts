import { type Bearer, readPushRequest } from '@tidemark/core';
import type { Outcome, Upload } from '@tidemark/protocol';
import { PushAnswer, PushRequest } from '@tidemark/protocol/sync-schemas';
import { type RouteContext, route, type ShownFact } from '../../http/route.ts';
import { actingDevice } from './acting-device.ts';

const push = route({
  method: 'POST',
  path: '/sync/v1/push',
  operationId: 'devicePush',
  scope: 'device',
  summary: 'Upload changes of the device',
  refusals: ['client_not_found', 'user_not_found', 'invalid_value'],
  body: PushRequest,
  answer: PushAnswer,
  hasFailures: (answer) =>
    (answer as PushAnswer).outcomes.some(({ status }) => status === 'rejected' || status === 'conflict'),
  activity: ({ body: { changes }, bearer }, answer) =>
    (answer as PushAnswer).outcomes.map((outcome, index) => shownUpload(bearer, changes[index], outcome)),
  handle: async ({ context, body, bearer }) => {
    const startedMs = performance.now();
    const outcomes = await context.tidemark.devices.push(actingDevice(bearer, body.client_id), readPushRequest(body));
    countUploads(context, body.changes, outcomes, performance.now() - startedMs);
    return { outcomes };
  },
});

/** The statistics count only applied uploads, whose source exists. */
function countUploads(
  { tidemark, metrics, nowMs }: RouteContext,
  changes: readonly Upload[],
  outcomes: readonly Outcome[],
  elapsedMs: number,
): void {
  for (const [index, { status, source }] of outcomes.entries()) {
    const op = changes[index]?.op;
    // An upload to an unknown source is rejected; its source must not become a label.
    if (outcomes[index]?.error?.code !== 'source_not_found') metrics.devices.uploaded(source, status);
    if (status === 'applied' && op !== undefined) tidemark.stats.record(`sources:${op}:${source}`, elapsedMs, nowMs());
  }
}

/** Outcomes have the order of the changes. */
function shownUpload(bearer: Bearer | null, change: Upload | undefined, outcome: Outcome): ShownFact {
  const { source, op_id, id: object_id, status, error } = outcome;
  const device = { user_id: bearer?.user ?? null, client_id: bearer?.client ?? null };
  const upload = { op: change?.op ?? 'update', op_id, object_id, status, code: error?.code ?? null };
  return { fact: { kind: 'upload', ...device, source, ...upload }, data: () => change?.attributes ?? null };
}

export const uploadRoutes = [push];
