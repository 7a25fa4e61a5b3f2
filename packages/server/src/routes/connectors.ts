import { Connector, ConnectorCheck, ConnectorReport } from '@tidemark/protocol/admin/connectors';
import { Deleted } from '@tidemark/protocol/admin/deleted';
import { text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { type RouteContext, route } from '../http/route.ts';
import { Empty } from './shapes.ts';

const ConnectorParams = Type.Object({ connector: text('The name of the connector.', 'field') });
/** Connectors report a few kilobytes. */
const REPORT_BYTES_MAX = 1_000_000;

const list = route({
  method: 'GET',
  path: '/rc/v1/connectors',
  operationId: 'connectorsList',
  scope: 'read',
  summary: 'The databases that are connected, with what their connectors reported last',
  answer: Type.Array(Connector, { description: 'The connectors, by name.' }),
  handle: async ({ context }) => {
    const views = await context.tidemark.connectors.list();
    return views.map((view) => withConfiguration(context, view));
  },
});

const get = route({
  method: 'GET',
  path: '/rc/v1/connectors/:connector',
  operationId: 'connectorsGet',
  scope: 'read',
  summary: 'A connector, with what it reported last',
  params: ConnectorParams,
  answer: Connector,
  handle: async ({ context, params }) => {
    return withConfiguration(context, await context.tidemark.connectors.get(params.connector));
  },
});

const report = route({
  method: 'PUT',
  path: '/rc/v1/connectors/:connector',
  operationId: 'connectorsReport',
  scope: 'admin',
  summary: 'Report what a connector does; connectors call it',
  description: 'A report replaces the one before. One that does not come any more counts as lag.',
  refusals: ['invalid_value', 'limit_exceeded'],
  params: ConnectorParams,
  body: ConnectorReport,
  bodyBytesMax: REPORT_BYTES_MAX,
  answer: Connector,
  handle: async ({ context, params, body }) => {
    return withConfiguration(context, await context.tidemark.connectors.report(params.connector, body));
  },
});

const check = route({
  method: 'POST',
  path: '/rc/v1/connectors/:connector/check',
  operationId: 'connectorsCheck',
  scope: 'admin',
  summary: 'Find everything that the database of a connector lacks',
  description:
    'Only for connectors in the configuration of the server. The database is asked now; nothing is changed in it.',
  refusals: ['connector_not_configured'],
  params: ConnectorParams,
  body: Empty,
  answer: ConnectorCheck,
  audit: 'connector.check',
  handle: ({ context, params }) => context.connectors.check(params.connector),
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/connectors/:connector',
  operationId: 'connectorsDelete',
  scope: 'admin',
  summary: 'Forget a connector that is gone',
  description:
    'Only its last report is deleted. Its sources, their objects, and the slot in the database stay. One that still runs reports again.',
  params: ConnectorParams,
  answer: Deleted,
  audit: 'connector.delete',
  handle: ({ context, params }) => context.tidemark.connectors.forget(params.connector),
});

function withConfiguration<View extends { readonly name: string }>(context: RouteContext, view: View) {
  return { ...view, is_configured: context.connectors.has(view.name) };
}

export const connectorRoutes = [list, get, report, check, remove];
