import type { CountedSource } from '@tidemark/core';
import { Deleted, Source } from '@tidemark/protocol/admin-schemas';
import { Type } from 'typebox';
import { JsonText, route } from '../http/route.ts';
import { Names, Text } from './shapes.ts';

const Params = Type.Object({ source_id: Text });

const texts = new WeakMap<CountedSource, string>();

/** A source is asked for often and changes rarely: the same answer is written once. */
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
  scope: 'read',
  summary: 'The names of the sources of a partition type',
  params: Type.Object({ partition_type: Text }),
  answer: Names,
  handle: ({ desk, params }) => desk.tidemark.sources.listByType(params.partition_type),
});

const list = route({
  method: 'GET',
  path: '/rc/v1/sources',
  scope: 'read',
  summary: 'All sources with their attributes',
  answer: Type.Array(Source),
  handle: ({ desk }) => desk.tidemark.sources.listCounted(),
});

const declare = route({
  method: 'POST',
  path: '/rc/v1/sources',
  tells: 'sources',
  scope: 'admin',
  summary: 'Declare a source',
  body: Type.Record(Text, Type.Unknown()),
  answer: Source,
  audit: 'source.declare',
  handle: ({ desk, body }) => desk.tidemark.sources.declare(body),
});

const get = route({
  method: 'GET',
  path: '/rc/v1/sources/:source_id',
  scope: 'read',
  summary: 'The attributes of a source',
  params: Params,
  answer: Source,
  handle: async ({ desk, params }) => new JsonText(textOf(await desk.tidemark.sources.get(params.source_id))),
});

const update = route({
  method: 'PUT',
  path: '/rc/v1/sources/:source_id',
  tells: 'sources',
  scope: 'admin',
  summary: 'Update attributes of a source',
  params: Params,
  body: Type.Object(
    { data: Type.Unknown(), user_name: Type.Optional(Type.Unknown()) },
    { additionalProperties: false },
  ),
  answer: Source,
  audit: 'source.update',
  handle: ({ desk, params, body }) => desk.tidemark.sources.update(params.source_id, body.data, body.user_name),
});

const drop = route({
  method: 'DELETE',
  path: '/rc/v1/sources/:source_id',
  tells: 'sources',
  scope: 'admin',
  summary: 'Drop a source with all its data',
  params: Params,
  answer: Deleted,
  audit: 'source.drop',
  handle: ({ desk, params }) => desk.tidemark.sources.drop(params.source_id),
});

export const sourceRoutes = [byType, list, declare, get, update, drop];
