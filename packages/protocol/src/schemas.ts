import { closed, count, flag, nullableSeq, nullableText, objects, text, texts } from './annotated.ts';
import { type Static, Type } from './typebox.ts';

/**
 * Schemas that several APIs share. They do not check the attributes of objects, because admission checks every key and
 * value. A schema with a `title` is listed under that name in the API description.
 */

export const PartitionType = Type.Union([Type.Literal('app'), Type.Literal('user'), Type.Literal('group')], {
  title: 'PartitionType',
  description:
    'Whose data the source holds: `app` is shared by all users, `user` is separate for each user, `group` is shared by the members of each group.',
});
export type PartitionType = Static<typeof PartitionType>;

export const SyncType = Type.Union([Type.Literal('incremental'), Type.Literal('bulk_only')], {
  title: 'SyncType',
  description: 'How devices fetch the source: `incremental` in pages of changes, `bulk_only` only as a snapshot.',
});
export type SyncType = Static<typeof SyncType>;

/** How uploads are treated that change an object which changed since the device last saw it. */
export const Conflicts = Type.Union([Type.Literal('last_writer'), Type.Literal('detect')], {
  title: 'Conflicts',
  description:
    'What happens when a device changes something that somebody else changed after the device saw it: with `last_writer` the last upload wins, attribute by attribute; with `detect` the upload is a conflict.',
});
export type Conflicts = Static<typeof Conflicts>;

/** Attribute → the source whose objects it refers to. */
export const References = Type.Record(Type.String(), Type.String(), {
  description: 'Attributes that hold ids of objects: attribute → the source of those objects.',
  examples: [{ customer: 'Customer' }],
});
export type References = Static<typeof References>;

const queueText = (jobs: string) =>
  nullableText(
    `The queue for ${jobs}. With a queue the adapter is called in the background; null: there is none.`,
    'slow',
  );

/** The attributes of a source: those of specification 2.3, its adapter, and what devices may change. */
const PushNotify = Type.Union([Type.Boolean(), Type.Literal('until_delivered')], {
  description:
    'Whether devices whose data a push changed get a ping. `until_delivered`: it is repeated to devices that have not acknowledged the change.',
  examples: [true],
});
export type PushNotify = Static<typeof PushNotify>;

export const SourceAttributes = Type.Object(
  {
    name: text('The name of the source. It cannot change.', 'Product'),
    poll_interval: Type.Integer({
      minimum: -1,
      description: 'Seconds between two queries of the adapter: -1 never by itself, 0 at every sync.',
      examples: [300],
    }),
    partition_type: PartitionType,
    sync_type: SyncType,
    queue: queueText('query, create, update and delete jobs that have no queue of their own'),
    query_queue: queueText('query jobs'),
    cud_queue: queueText('create, update and delete jobs'),
    adapter: text('Who fills the source: `none`, `backend`, or the name of a source module.', 'backend'),
    conflicts: Conflicts,
    read_only: flag('True: devices cannot change the objects of the source.'),
    filling: flag('True: the data is not complete yet, and devices get none of it. They are told when it is.'),
    references: References,
    push_notify: PushNotify,
  },
  { ...closed, title: 'SourceAttributes', description: 'The attributes of a source.' },
);
export type SourceAttributes = Static<typeof SourceAttributes>;

/** The error of one part of a call that otherwise succeeded; `code` is a code of the catalogue. */
export const PartialError = Type.Object(
  {
    code: text('A code of the catalogue in docs/reference/errors.md.', 'source_not_found'),
    detail: text('What exactly went wrong, for people.', 'there is no source "Prodct"'),
    retry_after_s: Type.Optional(count('When to ask again, in seconds.', 5)),
  },
  {
    ...closed,
    title: 'PartialError',
    description: 'What went wrong with one part of a call that otherwise succeeded.',
  },
);
export type PartialError = Static<typeof PartialError>;

/** The answer to a pull for one source. With `error`, it contains the data of the last successful refresh. */
export const Page = Type.Object(
  {
    token: text(
      'The position after this page. Store it together with the data, and send it with the next pull.',
      'AAECAwQFBgc',
    ),
    more: flag('True: there are more changes; pull again with the new token.'),
    reset: Type.Optional(
      Type.Literal(true, {
        description:
          'The device starts over: what no page mentions between this one and the next with `more: false` is gone.',
      }),
    ),
    delete: Type.Optional(texts('Ids of objects that were deleted.', ['3'])),
    put: Type.Optional(objects('Whole objects, which replace what the device holds under their ids.')),
    drop: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Removed attributes: object id → names of attributes.',
        examples: [{ '2': ['colour'] }],
      }),
    ),
    patch: Type.Optional(objects('Changed attributes of objects that the device holds already.')),
    size: count('How many objects the source has for this device.', 2),
    checksum: Type.Optional(
      count(
        'On the last page: the checksum of all objects. A device that computes another one starts over.',
        184467440737,
      ),
    ),
    error: Type.Optional(PartialError),
  },
  {
    ...closed,
    title: 'Page',
    description:
      'What changed in one source after the token. Apply in this order: reset, delete, put, drop, patch. With `error` the backend could not be asked, and the data is as it was before.',
  },
);
export type Page = Static<typeof Page>;

/** The result of a write. */
export const WriteReport = Type.Object(
  {
    source: text('The source that was written to.', 'Product'),
    user_id: nullableText('Whose data it is; null: it is shared by users.', 'anna'),
    group: Type.Optional(text('The group whose data it is, if the data of the source belongs to groups.', 'north')),
    changed: count('Objects that were created, changed or deleted.', 2),
    unchanged: count('Objects that already were as the call wants them.', 0),
    seq: count('The newest sequence number of the partition after the write.', 1042),
  },
  { ...closed, title: 'WriteReport', description: 'What a push changed.' },
);
export type WriteReport = Static<typeof WriteReport>;

/** The result of a write to several users or groups. */
export const PartitionsReport = Type.Object(
  {
    source: text('The source that was written to.', 'Order'),
    changed: count('Objects that were created, changed or deleted, of all together.', 3),
    unchanged: count('Objects that already were as the call wants them, of all together.', 0),
    partitions: Type.Array(
      Type.Object(
        {
          changed: count('Objects that were created, changed or deleted.', 3),
          unchanged: count('Objects that already were as the call wants them.', 0),
          seq: nullableSeq('The newest sequence number of the partition after the write; null: it was refused.'),
          code: Type.Optional(text('Why nothing was written here, as a code of a refusal.', 'quota_exceeded')),
          detail: Type.Optional(text('The same in words.', 'the quota of the group is used up')),
        },
        closed,
      ),
      { description: 'What became of each, in the order of the call.' },
    ),
  },
  { ...closed, title: 'PartitionsReport', description: 'What a push to several users or groups changed.' },
);
export type PartitionsReport = Static<typeof PartitionsReport>;

/** The result of a move between groups. */
export const MoveReport = Type.Object(
  {
    source: text('The source.', 'Order'),
    from: text('The group that the objects were in.', 'north'),
    to: text('The group that they are in now.', 'south'),
    moved: count('Objects that were moved.', 2),
    missing: count('Ids of which there was no object in the group.', 0),
    from_seq: count('The newest sequence number of the group that they were in.', 1042),
    to_seq: count('The newest sequence number of the group that they are in now.', 17),
  },
  { ...closed, title: 'MoveReport', description: 'What a move changed.' },
);
export type MoveReport = Static<typeof MoveReport>;

/** One resolution step of a metric. */
export const StatStep = Type.Object(
  {
    at: Type.Integer({ description: 'When the step begins, in seconds since 1970.', examples: [1_895_745_600] }),
    count: count('How many measurements the step has.', 12),
    sum: Type.Number({ description: 'Their sum; durations are in milliseconds.', examples: [84.5] }),
    min: Type.Number({ description: 'The smallest measurement.', examples: [1.2] }),
    max: Type.Number({ description: 'The largest measurement.', examples: [30.1] }),
  },
  { ...closed, title: 'StatStep', description: 'One minute of a metric.' },
);
export type StatStep = Static<typeof StatStep>;

/** The body of every error response (RFC 9457). */
export const Problem = Type.Object(
  {
    type: text('A URN made of the code.', 'urn:tidemark:problem:user_not_found'),
    title: text('What the code means; the same at every occurrence.', 'No such user'),
    status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
    detail: text('What is wrong with this request, for people.', 'there is no user "anna"'),
    code: text(
      'A stable code of the catalogue in docs/reference/errors.md: what programs should look at.',
      'user_not_found',
    ),
    hint: Type.Optional(text('What to try.', 'log in again')),
    request_id: text('Finds the request in the audit trail and in the log.', '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11'),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            pointer: text('Where: a JSON pointer (RFC 6901) into the request.', '/objects/2'),
            detail: text('What is wrong there.', 'must be an object'),
          },
          { ...closed, description: 'One broken rule.' },
        ),
        { description: 'The places of the request that broke a rule.' },
      ),
    ),
  },
  {
    ...closed,
    title: 'Problem',
    description: 'Why a call was refused (RFC 9457). A refused call has changed nothing.',
  },
);
export type Problem = Static<typeof Problem>;
