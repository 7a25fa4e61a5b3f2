import type { Outcome, Upload } from '@tidemark/protocol';
import { PushAnswer, PushRequest } from '@tidemark/protocol/sync-schemas';
import { type RouteContext, route } from '../../http/route.ts';
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
  handle: async ({ context, body, bearer }) => {
    const startedMs = performance.now();
    const outcomes = await context.tidemark.devices.push(actingDevice(bearer, body.client_id), {
      changes: body.changes,
      ...(body.acknowledged === undefined ? {} : { acknowledged: new Map(Object.entries(body.acknowledged)) }),
    });
    countUploads(context, body.changes, outcomes, performance.now() - startedMs);
    return { outcomes };
  },
});

/** Counts only applied uploads, whose source exists. */
function countUploads(
  { tidemark, nowMs }: RouteContext,
  changes: readonly Upload[],
  outcomes: readonly Outcome[],
  elapsedMs: number,
): void {
  for (const [index, { status, source }] of outcomes.entries()) {
    const op = changes[index]?.op;
    if (status === 'applied' && op !== undefined) tidemark.stats.record(`sources:${op}:${source}`, elapsedMs, nowMs());
  }
}

export const uploadRoutes = [push];
