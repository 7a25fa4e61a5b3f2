import { SCHEMA_INFER_OBJECTS_MAX } from '@tidemark/protocol';
import {
  SchemaChanges,
  SchemaDiff,
  SchemaProposal,
  SchemaReport,
  SchemaView,
} from '@tidemark/protocol/admin/source-schemas';
import { closed, objects } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { OBJECT_REFUSALS } from '../http/route-refusals.ts';
import { SourceId } from './shapes.ts';

const Params = Type.Object({ source_id: SourceId });
/** Admission checks it, and points at each mistake. */
const Body = Type.Record(Type.String(), Type.Unknown(), documentedAs(SchemaChanges));

const get = route({
  method: 'GET',
  path: '/rc/v1/sources/:source_id/schema',
  operationId: 'sourcesSchema',
  scope: 'read',
  summary: 'The schema of a source, with its versions',
  refusals: ['source_not_found', 'schema_not_found', 'invalid_name'],
  params: Params,
  answer: SchemaView,
  handle: ({ context, params }) => context.tidemark.sources.schemas.get(params.source_id),
});

const set = route({
  method: 'PUT',
  path: '/rc/v1/sources/:source_id/schema',
  operationId: 'sourcesSetSchema',
  announces: 'sources',
  scope: 'admin',
  summary: 'Set the schema of a source, its mode or its oldest version',
  description:
    'Another schema is a new version; `steps` say how objects of the version before become objects of it. A schema that breaks apps which are in use is refused, unless `force` is true.',
  refusals: [
    'source_not_found',
    'schema_not_found',
    'schema_breaking',
    'schema_converting',
    'invalid_name',
    'invalid_value',
    'forbidden_key',
    'limit_exceeded',
    'too_deep',
    'unsafe_number',
  ],
  params: Params,
  body: Body,
  answer: SchemaView,
  audit: 'source.schema',
  handle: ({ context, params, body }) => context.tidemark.sources.schemas.set(params.source_id, body),
});

const diff = route({
  method: 'POST',
  path: '/rc/v1/sources/:source_id/schema/diff',
  operationId: 'sourcesDiffSchema',
  scope: 'read',
  summary: 'What another schema would mean for the apps in use',
  description: 'Takes what `PUT …/schema` takes, and changes nothing.',
  refusals: [
    'source_not_found',
    'invalid_name',
    'invalid_value',
    'forbidden_key',
    'limit_exceeded',
    'too_deep',
    'unsafe_number',
  ],
  params: Params,
  body: Body,
  answer: SchemaDiff,
  handle: ({ context, params, body }) => context.tidemark.sources.schemas.diff(params.source_id, body),
});

const report = route({
  method: 'GET',
  path: '/rc/v1/sources/:source_id/schema/report',
  operationId: 'sourcesSchemaReport',
  scope: 'read',
  summary: 'What the schema of a source would have refused',
  description:
    'Counts what was written while the mode is `report`, at the server that answers, since it started or the present version was set.',
  refusals: ['source_not_found', 'schema_not_found', 'invalid_name'],
  params: Params,
  answer: SchemaReport,
  handle: ({ context, params }) => context.tidemark.sources.schemas.report(params.source_id),
});

const infer = route({
  method: 'POST',
  path: '/rc/v1/sources/:source_id/schema/infer',
  operationId: 'sourcesInferSchema',
  scope: 'read',
  summary: 'Propose a schema that fits the objects',
  description: `Sets nothing. Without \`samples\` it is made from the stored objects, of which ${SCHEMA_INFER_OBJECTS_MAX} are read.`,
  refusals: ['source_not_found', ...OBJECT_REFUSALS],
  params: Params,
  body: Type.Object(
    {
      samples: Type.Optional(
        Type.Unknown(documentedAs(objects('Objects to make it from, instead of the stored ones.'))),
      ),
    },
    { ...closed, title: 'SchemaSamples', description: 'What to make the schema from.' },
  ),
  answer: SchemaProposal,
  handle: ({ context, params, body }) => context.tidemark.objects.inferSchema(params.source_id, body.samples),
});

export const sourceSchemaRoutes = [get, set, diff, infer, report];
