import { WriteReport } from '@tidemark/protocol/schemas';
import { type Static, type TSchema, Type } from 'typebox';
import type { Desk } from '../http/route.ts';
import { type Route, route } from '../http/route.ts';
import { Text } from './shapes.ts';

/** The envelope is checked here; the objects are for admission, which has to look at every one of them anyway. */
const envelope = { user_id: Type.Optional(Type.Unknown()), api_token: Type.Optional(Type.Unknown()) };
const rebuild = { rebuild_md: Type.Optional(Type.Boolean()) };
const objects = { objects: Type.Unknown() };

type Target = { readonly source: string; readonly user_id?: unknown };

/** `rebuild_md` is taken and has no effect: the document is exact at every moment, at the same low cost. */
function push<B extends TSchema>(
  operation: string,
  summary: string,
  body: B,
  handle: (desk: Desk, target: Target, body: Static<B>) => Promise<unknown>,
): Route {
  return route({
    method: 'POST',
    path: `/app/v1/:source_name/${operation}`,
    scope: 'push',
    summary,
    params: Type.Object({ source_name: Text }),
    body,
    answer: WriteReport,
    operation,
    handle: ({ desk, params, body: given }) => {
      const { user_id } = given as { readonly user_id?: unknown };
      return handle(desk, { source: params.source_name, ...(user_id === undefined ? {} : { user_id }) }, given);
    },
  });
}

const ObjectsBody = Type.Object({ ...envelope, ...rebuild, ...objects }, { additionalProperties: false });
const FastInsertBody = Type.Object({ ...envelope, ...objects }, { additionalProperties: false });
const FastUpdateBody = Type.Object(
  { ...envelope, delete_data: Type.Unknown(), data: Type.Unknown() },
  { additionalProperties: false },
);
const FastDeleteBody = Type.Object({ ...envelope, data: Type.Unknown() }, { additionalProperties: false });

export const pushRoutes = [
  push('push_objects', 'Add objects, or update existing ones', ObjectsBody, ({ tidemark }, target, body) =>
    tidemark.pushObjects({ ...target, objects: body.objects }),
  ),
  push('push_deletes', 'Delete objects', ObjectsBody, ({ tidemark }, target, body) =>
    tidemark.pushDeletes({ ...target, objects: body.objects }),
  ),
  push('fast_insert', 'Insert objects without a look at what is there', FastInsertBody, ({ tidemark }, target, body) =>
    tidemark.fastInsert({ ...target, objects: body.objects }),
  ),
  push('fast_update', 'Remove previous data and set new data', FastUpdateBody, ({ tidemark }, target, body) =>
    tidemark.fastUpdate({ ...target, delete_data: body.delete_data, data: body.data }),
  ),
  push('fast_delete', 'Remove the data given', FastDeleteBody, ({ tidemark }, target, body) =>
    tidemark.fastDelete({ ...target, data: body.data }),
  ),
];
