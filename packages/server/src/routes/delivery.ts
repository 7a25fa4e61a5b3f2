import { ClientSync, Explanation } from '@tidemark/protocol/admin/delivery';
import { closed, text } from '@tidemark/protocol/annotated';
import { Page } from '@tidemark/protocol/schemas';
import { Type } from '@tidemark/protocol/typebox';
import { JsonText, route } from '../http/route.ts';
import { ClientId, GroupId, SourceId } from './shapes.ts';

const GroupQuery = Type.Object({ group: Type.Optional(GroupId) }, closed);

const explain = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/sources/:source_id/objects/:object_id/explain',
  operationId: 'clientsExplain',
  scope: 'read',
  summary: 'Why a device holds an object, or does not',
  description:
    'Of a source whose data belongs to groups, `group` names the group. Without it the object is looked for in all groups of the user.',
  params: Type.Object({ client_id: ClientId, source_id: SourceId, object_id: text('The id of the object.', '17') }),
  query: GroupQuery,
  refusals: ['group_required', 'invalid_name'],
  answer: Explanation,
  handle: ({ context, params, query }) =>
    context.tidemark.delivery.explain(params.client_id, params.source_id, params.object_id, query.group),
});

/** Missing files that the state of a device lists. */
const FILES_SHOWN_MAX = 100;

const sync = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/sync',
  operationId: 'clientsSync',
  scope: 'read',
  summary: 'How far a device is with each source',
  params: Type.Object({ client_id: ClientId }),
  answer: ClientSync,
  handle: async ({ context, params }) => {
    const sources = await context.tidemark.delivery.sync(params.client_id);
    const files_missing = await context.tidemark.files.waitingOn(params.client_id, FILES_SHOWN_MAX);
    return { online: await context.liveDevices.isListening(params.client_id), sources, files_missing };
  },
});

const pending = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id/sources/:source_id/pending',
  operationId: 'clientsPending',
  scope: 'read',
  summary: 'The page that a device gets next',
  description:
    'Reads what the next pull of the device would bring, by what it has acknowledged. Nothing is recorded. `group` is needed if the data belongs to groups and the user is in several.',
  params: Type.Object({ client_id: ClientId, source_id: SourceId }),
  query: GroupQuery,
  refusals: ['group_required', 'invalid_name', 'not_a_member'],
  answer: Page,
  handle: async ({ context, params, query }) =>
    new JsonText(await context.tidemark.delivery.pending(params.client_id, params.source_id, query.group)),
});

export const deliveryRoutes = [explain, sync, pending];
