import { type Static, type TSchema, Type } from 'typebox';
import { Conflicts, Page, PartitionType, References, SyncType, Trouble } from './schemas.ts';

/** The device protocol, `/sync/v1`. docs/sync-protocol.md says what it means. */

const closed = { additionalProperties: false } as const;

/** Members of any name. `Type.Record` would pass over names with a line break in them, whatever is under those. */
function membersOf<Member extends TSchema>(member: Member) {
  return Type.Unsafe<Record<string, Static<Member>>>(Type.Object({}, { additionalProperties: member }));
}

const OpIdsBySource = membersOf(Type.Array(Type.String()));

export const DeviceLogin = Type.Object(
  {
    login: Type.String(),
    password: Type.String(),
    /** The id this device was given before; absent: it is new. */
    client: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  closed,
);
export type DeviceLogin = Static<typeof DeviceLogin>;

export const DeviceSession = Type.Object(
  {
    token: Type.String(),
    user_id: Type.String(),
    client_id: Type.String(),
    expires_at: Type.String({ format: 'date-time' }),
  },
  closed,
);
export type DeviceSession = Static<typeof DeviceSession>;

/** A source as a device sees it. */
export const SyncSource = Type.Object(
  {
    name: Type.String(),
    partition_type: PartitionType,
    sync_type: SyncType,
    conflicts: Conflicts,
    read_only: Type.Boolean(),
    references: References,
    searchable: Type.Boolean(),
  },
  closed,
);
export type SyncSource = Static<typeof SyncSource>;

export const SyncSources = Type.Object({ sources: Type.Array(SyncSource) }, closed);
export type SyncSources = Static<typeof SyncSources>;

export const PullRequest = Type.Object(
  {
    client_id: Type.String(),
    sources: membersOf(Type.Object({ token: Type.Optional(Type.Union([Type.String(), Type.Null()])) }, closed)),
    max_objects: Type.Optional(Type.Integer()),
    /** Outcomes the device has taken in, by source. */
    acknowledged: Type.Optional(OpIdsBySource),
  },
  closed,
);
export type PullRequest = Static<typeof PullRequest>;

/** A source that cannot be pulled at all; the others are not affected. */
export const NoPage = Type.Object({ error: Trouble }, closed);
export type NoPage = Static<typeof NoPage>;

export const UploadOp = Type.Union([Type.Literal('create'), Type.Literal('update'), Type.Literal('delete')]);
export type UploadOp = Static<typeof UploadOp>;

/** A change made on a device. */
export const Upload = Type.Object(
  {
    op_id: Type.String(),
    source: Type.String(),
    op: UploadOp,
    id: Type.String(),
    attributes: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    /** The token of the state in which the change was made. */
    seen: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  },
  closed,
);
export type Upload = Static<typeof Upload>;

export const OutcomeStatus = Type.Union([
  Type.Literal('applied'),
  Type.Literal('queued'),
  Type.Literal('rejected'),
  Type.Literal('conflict'),
]);
export type OutcomeStatus = Static<typeof OutcomeStatus>;

/** What became of an upload. */
export const Outcome = Type.Object(
  {
    op_id: Type.String(),
    source: Type.String(),
    status: OutcomeStatus,
    /** The object's id; another than the device gave when the backend chose its own. */
    id: Type.String(),
    /** Why it was rejected or is a conflict. */
    error: Type.Optional(Trouble),
    /** Of a rejected or conflicting upload, the object as the server has it; null: there is none. */
    current: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  },
  closed,
);
export type Outcome = Static<typeof Outcome>;

export const PullAnswer = Type.Object(
  { sources: Type.Record(Type.String(), Type.Union([Page, NoPage])), outcomes: Type.Array(Outcome) },
  closed,
);
export type PullAnswer = Static<typeof PullAnswer>;

export const PushRequest = Type.Object(
  {
    client_id: Type.String(),
    changes: Type.Array(Upload),
    acknowledged: Type.Optional(OpIdsBySource),
  },
  closed,
);
export type PushRequest = Static<typeof PushRequest>;

export const PushAnswer = Type.Object({ outcomes: Type.Array(Outcome) }, closed);
export type PushAnswer = Static<typeof PushAnswer>;

export const ResetRequest = Type.Object({ sources: Type.Optional(Type.Array(Type.String())) }, closed);
export type ResetRequest = Static<typeof ResetRequest>;

export const SearchRequest = Type.Object({ source: Type.String(), params: Type.Unknown() }, closed);
export type SearchRequest = Static<typeof SearchRequest>;

/** Events on the wire, by their name. They are hints: losing one loses nothing. */
export interface SyncEvents {
  /** The first one; the server is silent for no longer than this. */
  readonly ready: { readonly heartbeat_s: number };
  /** Something changed in this source. */
  readonly changed: { readonly source: string };
  /** More changed than could be told: pull everything. */
  readonly pull: Record<string, never>;
  /** Outcomes are waiting. */
  readonly outcomes: Record<string, never>;
  /** A ping of the backend, as other devices get it from their push service. */
  readonly ping: {
    readonly ping_id: string;
    readonly message?: string;
    readonly badge?: number | string;
    readonly sound?: string;
    readonly vibrate?: number;
    readonly sources?: readonly string[];
  };
  /** The token has ended, or the device has connected again; do not connect with this token, or this connection, again. */
  readonly ended: { readonly code: string };
}
