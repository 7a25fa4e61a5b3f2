import type { ChangeObserver } from '@tidemark/core';
import { closed, flag, objects, text, texts } from '@tidemark/protocol/annotated';
import { MoveReport, WriteReport } from '@tidemark/protocol/schemas';
import { type Static, type TSchema, Type } from '@tidemark/protocol/typebox';
import type { ActivityFact } from '../activity/activity-filter.ts';
import { documentedAs } from '../http/documented-schema.ts';
import type { RouteContext } from '../http/route.ts';
import { type Route, route } from '../http/route.ts';
import { MEMBERSHIP_REFUSALS, OBJECT_REFUSALS } from '../http/route-refusals.ts';
import { pushPartitions } from './push-partitions.ts';
import { IgnoredToken, SourceId } from './shapes.ts';

/** The members of the body are checked here, the objects by admission, which looks at every object anyway. */
const envelope = {
  user_id: Type.Optional(
    Type.Unknown(documentedAs(text('The user whose data it is. Required unless the source is shared.', 'anna'))),
  ),
  group: Type.Optional(
    Type.Unknown(
      documentedAs(
        text('The group whose data it is, instead of the user. Required if data belongs to groups.', 'north'),
      ),
    ),
  ),
  api_token: IgnoredToken,
};
const rebuild = {
  rebuild_md: Type.Optional(flag('Accepted and without effect: the document is always exact.')),
};

/** Objects by id, checked by admission. */
function hash(description: string) {
  return Type.Unknown(documentedAs(objects(description)));
}

const OPERATION_IDS = {
  push_objects: 'pushObjects',
  push_deletes: 'pushDeletes',
  fast_insert: 'pushFastInsert',
  fast_update: 'pushFastUpdate',
  fast_delete: 'pushFastDelete',
} as const;

type Target = { readonly source: string; readonly user_id?: unknown; readonly group?: unknown };

interface ObjectWrite {
  readonly tidemark: RouteContext['tidemark'];
  readonly target: Target;
  /** Wants to know which objects change; absent: nobody does. */
  readonly observer: ChangeObserver | undefined;
}

/** `rebuild_md` is accepted and has no effect, because the document is always exact. */
function push<B extends TSchema>(
  operation: keyof typeof OPERATION_IDS,
  summary: string,
  body: B,
  handle: (write: ObjectWrite, body: Static<B>) => Promise<unknown>,
): Route {
  return route({
    method: 'POST',
    path: `/app/v1/:source_name/${operation}`,
    operationId: OPERATION_IDS[operation],
    scope: 'push',
    summary,
    refusals: ['user_not_found', 'group_required', 'schema_violation', ...OBJECT_REFUSALS, ...MEMBERSHIP_REFUSALS],
    params: Type.Object({ source_name: SourceId }),
    body,
    answer: WriteReport,
    operation,
    audit: operation === 'push_deletes' ? 'objects.delete' : 'objects.change',
    isAuditedByHandOnly: true,
    activity: ({ body: given }, answer) => [
      { fact: pushFact(operation, answer as WriteReport), data: () => dataOf(given as ObjectsGiven) },
    ],
    handle: ({ context: { tidemark }, params, body: given, observer }) => {
      const { user_id, group } = given as { readonly user_id?: unknown; readonly group?: unknown };
      const whose = { ...(user_id === undefined ? {} : { user_id }), ...(group === undefined ? {} : { group }) };
      return handle({ tidemark, target: { source: params.source_name, ...whose }, observer }, given);
    },
  });
}

function pushFact(operation: string, { source, user_id, changed, unchanged, seq }: WriteReport): ActivityFact {
  return { kind: 'push', user_id, client_id: null, source, operation, changed, unchanged, seq };
}

type ObjectsGiven = Readonly<Record<'objects' | 'deletes' | 'delete_data' | 'data', unknown>>;

function dataOf({ objects, deletes, delete_data, data }: ObjectsGiven): unknown {
  if (deletes !== undefined) return { objects, deletes };
  return objects ?? { delete_data, data };
}

const ObjectsBody = Type.Object(
  {
    ...envelope,
    ...rebuild,
    objects: hash('Objects to merge: their attributes are set, other attributes stay.'),
    deletes: Type.Optional(
      Type.Unknown(
        documentedAs(texts('Ids of objects to delete in the same commit. An id in `objects` is refused.', ['3'])),
      ),
    ),
    whole: Type.Optional(flag('True: `objects` are whole. Their attributes that are not given are removed.')),
  },
  { ...closed, title: 'PushObjects', description: 'Objects to add or update, and objects to delete.' },
);
function pushedIn({ objects, deletes, whole }: Static<typeof ObjectsBody>) {
  return { objects, ...(deletes === undefined ? {} : { deletes }), ...(whole === undefined ? {} : { whole }) };
}

const DeletesBody = Type.Object(
  { ...envelope, ...rebuild, objects: Type.Unknown(documentedAs(texts('Ids of objects.', ['1', '2']))) },
  { ...closed, title: 'PushDeletes', description: 'Objects to delete.' },
);
const FastInsertBody = Type.Object(
  { ...envelope, objects: hash('Whole objects; each replaces what was there under its id.') },
  { ...closed, title: 'FastInsert', description: 'Objects to insert.' },
);
const FastUpdateBody = Type.Object(
  {
    ...envelope,
    delete_data: hash('The previous data: an attribute is removed where it still holds this value.'),
    data: hash('The new data, which is set afterwards.'),
  },
  { ...closed, title: 'FastUpdate', description: 'Data to remove and data to set.' },
);
const FastDeleteBody = Type.Object(
  {
    ...envelope,
    data: hash('Attributes are removed where they hold this value; an object without attributes is gone.'),
  },
  { ...closed, title: 'FastDelete', description: 'Data to remove.' },
);

const MoveBody = Type.Object(
  {
    from: Type.Unknown(documentedAs(text('The group that the objects are in.', 'north'))),
    to: Type.Unknown(documentedAs(text('The group that they go to.', 'south'))),
    objects: Type.Unknown(documentedAs(texts('Ids of objects.', ['1', '2']))),
    api_token: IgnoredToken,
  },
  { ...closed, title: 'Move', description: 'Objects to move between two groups.' },
);

const move = route({
  method: 'POST',
  path: '/app/v1/:source_name/move',
  operationId: 'pushMove',
  scope: 'push',
  summary: 'Move objects from one group to another',
  description:
    'The objects are added to the one group before they are removed from the other. A device in both has them all the time. A repetition changes nothing.',
  refusals: OBJECT_REFUSALS,
  params: Type.Object({ source_name: SourceId }),
  body: MoveBody,
  answer: MoveReport,
  audit: 'objects.move',
  isAuditedByHandOnly: true,
  activity: (_request, answer) => [{ fact: moveFact(answer as MoveReport) }],
  handle: ({ context, params, body }) => context.tidemark.objects.move({ source: params.source_name, ...body }),
});

function moveFact({ source, moved, missing, to_seq }: MoveReport): ActivityFact {
  const counts = { changed: moved, unchanged: missing, seq: to_seq };
  return { kind: 'push', user_id: null, client_id: null, source, operation: 'move', ...counts };
}

export const pushRoutes = [
  push('push_objects', 'Add objects, or update existing ones', ObjectsBody, ({ tidemark, target, observer }, body) =>
    tidemark.objects.push({ ...target, ...pushedIn(body) }, observer),
  ),
  push('push_deletes', 'Delete objects', DeletesBody, ({ tidemark, target, observer }, body) =>
    tidemark.objects.pushDeletes({ ...target, objects: body.objects }, observer),
  ),
  push('fast_insert', 'Insert objects without reading existing ones', FastInsertBody, (write, body) =>
    write.tidemark.objects.fastInsert({ ...write.target, objects: body.objects }, write.observer),
  ),
  push('fast_update', 'Remove previous data and set new data', FastUpdateBody, ({ tidemark, target, observer }, body) =>
    tidemark.objects.fastUpdate({ ...target, delete_data: body.delete_data, data: body.data }, observer),
  ),
  push('fast_delete', 'Remove the given data', FastDeleteBody, ({ tidemark, target, observer }, body) =>
    tidemark.objects.fastDelete({ ...target, data: body.data }, observer),
  ),
  pushPartitions,
  move,
];
