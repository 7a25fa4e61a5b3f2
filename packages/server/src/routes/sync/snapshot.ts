import { type RenderedPage, renderLines } from '@tidemark/core';
import { closed, text } from '@tidemark/protocol/annotated';
import { Page } from '@tidemark/protocol/schemas';
import { Type } from '@tidemark/protocol/typebox';
import { mapEach } from '../../http/coding/map-each.ts';
import { markPage, type TextPart } from '../../http/coding/text-parts.ts';
import { JsonLines, route } from '../../http/route.ts';
import { MEMBERSHIP_REFUSALS } from '../../http/route-refusals.ts';
import { GroupId, SourceId } from '../shapes.ts';
import { actingDevice } from './acting-device.ts';

const snapshot = route({
  method: 'GET',
  path: '/sync/v1/sources/:name/snapshot',
  operationId: 'deviceSnapshot',
  scope: 'device',
  summary: 'All pages of a source in one stream',
  refusals: [
    'client_not_found',
    'user_not_found',
    'group_required',
    'not_a_member',
    'app_too_old',
    'refresh_pending',
    ...MEMBERSHIP_REFUSALS,
  ],
  params: Type.Object({ name: SourceId }),
  query: Type.Object(
    {
      token: Type.Optional(text('The token to continue from; absent: the device holds nothing.', 'AAECAwQFBgc')),
      group: Type.Optional(GroupId),
    },
    closed,
  ),
  answer: Page,
  streams: 'application/x-ndjson',
  handle: async ({ context, params, query, bearer }) => {
    const device = actingDevice(bearer);
    const giveBack = context.snapshots.take(device);
    try {
      const { token, group } = query;
      const call = { source: params.name, token: token || null, ...(group === undefined ? {} : { group }) };
      return new JsonLines(mapEach(await context.tidemark.devices.snapshot(device, call), linesOf), giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  },
});

function linesOf(pages: readonly RenderedPage[]): readonly TextPart[] {
  for (const page of pages) markPage(page);
  return renderLines(pages);
}

export const snapshotRoutes = [snapshot];
