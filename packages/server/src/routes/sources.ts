import type { CountedSource } from '@tidemark/core';
import { Deleted } from '@tidemark/protocol/admin/deleted';
import { Source } from '@tidemark/protocol/admin/sources';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { JsonText, route } from '../http/route.ts';
import { PartitionTypeParam, SourceChanges, SourceDeclaration } from './request-shapes.ts';
import { names, SourceId } from './shapes.ts';

const Params = Type.Object({ source_id: SourceId });

const texts = new WeakMap<CountedSource, string>();

/** Caches the text of a source, which is read often and changes rarely. */
function textOf(source: CountedSource): string {
  const known = texts.get(source);
  if (known !== undefined) return known;
  const text = JSON.stringify(source);
  texts.set(source, text);
  return text;
}

const byType = route({
  method: 'GET',
  path: '/rc/v1/sources/type/:partition_type',
  operationId: 'sourcesListByType',
  scope: 'read',
  summary: 'The names of the sources of a partition type',
  params: Type.Object({ partition_type: Type.String(documentedAs(PartitionTypeParam)) }),
  answer: names('Names of sources.', ['Product']),
  handle: ({ context, params }) => context.tidemark.sources.listByType(params.partition_type),
});

const list = route({
  method: 'GET',
  path: '/rc/v1/sources',
  operationId: 'sourcesList',
  scope: 'read',
  summary: 'All sources with their attributes',
  answer: Type.Array(Source, { description: 'All sources.' }),
  handle: ({ context }) => context.tidemark.sources.listCounted(),
});

const declare = route({
  method: 'POST',
  path: '/rc/v1/sources',
  operationId: 'sourcesDeclare',
  announces: 'sources',
  scope: 'admin',
  summary: 'Declare a source',
  refusals: ['source_exists', 'forbidden_key', 'invalid_name', 'invalid_value'],
  body: Type.Record(Type.String(), Type.Unknown(), documentedAs(SourceDeclaration)),
  answer: Source,
  audit: 'source.declare',
  handle: ({ context, body }) => context.tidemark.sources.declare(body),
});

const get = route({
  method: 'GET',
  path: '/rc/v1/sources/:source_id',
  operationId: 'sourcesGet',
  scope: 'read',
  summary: 'The attributes of a source',
  params: Params,
  answer: Source,
  handle: async ({ context, params }) => new JsonText(textOf(await context.tidemark.sources.get(params.source_id))),
});

const update = route({
  method: 'PUT',
  path: '/rc/v1/sources/:source_id',
  operationId: 'sourcesUpdate',
  announces: 'sources',
  scope: 'admin',
  summary: 'Update attributes of a source',
  refusals: ['immutable_attribute', 'forbidden_key', 'invalid_value'],
  params: Params,
  body: Type.Object(
    {
      data: Type.Unknown(documentedAs(SourceChanges)),
      user_name: Type.Optional(
        Type.Unknown(documentedAs(text('The name of the editor, shown as `updated_by` of the source.', 'anna'))),
      ),
    },
    { ...closed, title: 'SourceUpdate', description: 'What to change about a source.' },
  ),
  answer: Source,
  audit: 'source.update',
  handle: ({ context, params, body }) => context.tidemark.sources.update(params.source_id, body.data, body.user_name),
});

const drop = route({
  method: 'DELETE',
  path: '/rc/v1/sources/:source_id',
  operationId: 'sourcesDrop',
  announces: 'sources',
  scope: 'admin',
  summary: 'Drop a source with all its data',
  params: Params,
  answer: Deleted,
  audit: 'source.drop',
  handle: ({ context, params }) => context.tidemark.sources.drop(params.source_id),
});

export const sourceRoutes = [byType, list, declare, get, update, drop];
