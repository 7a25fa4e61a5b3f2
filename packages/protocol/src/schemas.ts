import { type Static, Type } from 'typebox';

/**
 * The shapes that travel. Objects are checked here only as far as being objects: admission must look at every key and
 * value anyway, and does it once.
 */
export const Objects = Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()));

export const PartitionType = Type.Union([Type.Literal('app'), Type.Literal('user')]);
export type PartitionType = Static<typeof PartitionType>;

export const SyncType = Type.Union([Type.Literal('incremental'), Type.Literal('bulk_only')]);
export type SyncType = Static<typeof SyncType>;

/** What happens when a device changes what somebody else has changed since the device last saw it. */
export const Conflicts = Type.Union([Type.Literal('last_writer'), Type.Literal('detect')]);
export type Conflicts = Static<typeof Conflicts>;

/** Attribute → the source whose objects it names. */
export const References = Type.Record(Type.String(), Type.String());
export type References = Static<typeof References>;

/** The attributes of a source: those of specification 2.3, which adapter fills it, and what devices may do to it. */
export const SourceAttributes = Type.Object(
  {
    name: Type.String(),
    poll_interval: Type.Integer({ minimum: -1 }),
    partition_type: PartitionType,
    sync_type: SyncType,
    queue: Type.Union([Type.String(), Type.Null()]),
    query_queue: Type.Union([Type.String(), Type.Null()]),
    cud_queue: Type.Union([Type.String(), Type.Null()]),
    adapter: Type.String(),
    conflicts: Conflicts,
    read_only: Type.Boolean(),
    references: References,
    push_notify: Type.Boolean(),
  },
  { additionalProperties: false },
);
export type SourceAttributes = Static<typeof SourceAttributes>;

/** What went wrong with one part of a call that went well otherwise; `code` is one of the catalogue. */
export const Trouble = Type.Object(
  {
    code: Type.String(),
    detail: Type.String(),
    /** When to ask again, in seconds. */
    retry_after_s: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { additionalProperties: false },
);
export type Trouble = Static<typeof Trouble>;

/** The answer to a pull for one source. With `error`, the data is as it was when all was well. */
export const Page = Type.Object(
  {
    token: Type.String(),
    more: Type.Boolean(),
    reset: Type.Optional(Type.Literal(true)),
    delete: Type.Optional(Type.Array(Type.String())),
    put: Type.Optional(Objects),
    drop: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    patch: Type.Optional(Objects),
    size: Type.Integer({ minimum: 0 }),
    checksum: Type.Optional(Type.Integer({ minimum: 0 })),
    error: Type.Optional(Trouble),
  },
  { additionalProperties: false },
);
export type Page = Static<typeof Page>;

/** What became of a write. */
export const WriteReport = Type.Object(
  {
    source: Type.String(),
    user_id: Type.Union([Type.String(), Type.Null()]),
    changed: Type.Integer({ minimum: 0 }),
    unchanged: Type.Integer({ minimum: 0 }),
    seq: Type.Integer({ minimum: 0 }),
  },
  { additionalProperties: false },
);
export type WriteReport = Static<typeof WriteReport>;

/** One resolution step of a metric. */
export const StatStep = Type.Object(
  {
    at: Type.Integer(),
    count: Type.Integer({ minimum: 0 }),
    sum: Type.Number(),
    min: Type.Number(),
    max: Type.Number(),
  },
  { additionalProperties: false },
);
export type StatStep = Static<typeof StatStep>;

/** RFC 9457, the one shape of everything that is refused. */
export const Problem = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    code: Type.String(),
    hint: Type.Optional(Type.String()),
    request_id: Type.String(),
    errors: Type.Optional(
      Type.Array(Type.Object({ pointer: Type.String(), detail: Type.String() }, { additionalProperties: false })),
    ),
  },
  { additionalProperties: false },
);
export type Problem = Static<typeof Problem>;
