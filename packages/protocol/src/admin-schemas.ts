import { type Static, Type } from 'typebox';
import { PUSH_SERVICES } from './device-types.ts';
import { SourceAttributes } from './schemas.ts';

/** What the REST API for administrators and backends answers with, `/rc/v1`. */

const closed = { additionalProperties: false } as const;
const Moment = Type.String({ format: 'date-time' });
const NullableText = Type.Union([Type.String(), Type.Null()]);
const Count = Type.Integer({ minimum: 0 });

export const AdminSession = Type.Object({ token: Type.String(), expires_at: Moment }, closed);
export type AdminSession = Static<typeof AdminSession>;

/** The licence in use; `seats: null` means that nothing is capped. */
export const License = Type.Object(
  {
    license: Type.String(),
    edition: Type.String(),
    licensee: NullableText,
    seats: Type.Null(),
    devices: Type.Integer(),
    available: Type.Null(),
    issued: NullableText,
    expires: Type.Null(),
    version: Type.String(),
  },
  closed,
);
export type License = Static<typeof License>;

export const ResetReport = Type.Object({ epoch: Type.String() }, closed);
export type ResetReport = Static<typeof ResetReport>;

/** The address of the backend; null: there is none. */
export const Appserver = Type.Object({ adapter_url: NullableText }, closed);
export type Appserver = Static<typeof Appserver>;

export const User = Type.Object(
  {
    login: Type.String(),
    attributes: Type.Record(Type.String(), Type.Unknown()),
    clients: Count,
    created_at: Moment,
    updated_at: Moment,
  },
  closed,
);
export type User = Static<typeof User>;

export const PingReport = Type.Object(
  {
    ping_id: Type.String(),
    users: Count,
    devices: Count,
    skipped: Type.Array(Type.Object({ client_id: Type.String(), reason: Type.String() }, closed)),
    unknown_users: Type.Array(Type.String()),
  },
  closed,
);
export type PingReport = Static<typeof PingReport>;

export const RefreshDue = Type.Object({ refresh_at: Moment }, closed);
export type RefreshDue = Static<typeof RefreshDue>;

export const Source = Type.Object(
  {
    ...SourceAttributes.properties,
    configured: Type.Boolean(),
    created_at: Moment,
    updated_at: Moment,
    updated_by: NullableText,
    counts: Type.Object(
      {
        objects: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Objects of a shared source; null where the data belongs to users.',
        }),
      },
      { additionalProperties: false },
    ),
  },
  closed,
);
export type Source = Static<typeof Source>;

/** How far a device is in one source: what it has been given, what it surely holds, and what there is. */
export const DeviceCursor = Type.Object(
  { seq: Count, base: Type.Union([Count, Type.Null()]), head: Count, seen_at: Moment },
  closed,
);
export type DeviceCursor = Static<typeof DeviceCursor>;

/** A device. */
export const Client = Type.Object(
  {
    client_id: Type.String(),
    user_id: Type.String(),
    device_type: NullableText,
    device_pin: NullableText,
    device_port: NullableText,
    device_push_type: NullableText,
    device_app_id: NullableText,
    device_app_version: NullableText,
    phone_id: NullableText,
    last_sync: NullableText,
    created_at: Moment,
    cursors: Type.Record(Type.String(), DeviceCursor),
  },
  closed,
);
export type Client = Static<typeof Client>;

const tokenFields = {
  id: Type.String(),
  user: Type.String(),
  name: NullableText,
  scopes: Type.Array(Type.String()),
  client: NullableText,
  created_at: Moment,
  expires_at: NullableText,
};
export const Token = Type.Object(tokenFields, closed);
export type Token = Static<typeof Token>;

/** The only answer in which the token itself stands. */
export const NewToken = Type.Object({ token: Type.String(), ...tokenFields }, closed);
export type NewToken = Static<typeof NewToken>;

export const Revoked = Type.Object({ revoked: Type.String() }, closed);
export type Revoked = Static<typeof Revoked>;

export const Deleted = Type.Object({ deleted: Type.String() }, closed);
export type Deleted = Static<typeof Deleted>;

/** One line of the audit trail. */
export const AuditFact = Type.Object(
  {
    id: Type.String(),
    at: Moment,
    actor: NullableText,
    token_id: NullableText,
    action: Type.String(),
    target: NullableText,
    result: Type.String(),
    address: Type.String(),
    request_id: Type.String(),
    count: Type.Integer(),
  },
  closed,
);
export type AuditFact = Static<typeof AuditFact>;

export const DocumentReport = Type.Object(
  { doc: Type.String(), type: Type.Union([Type.Literal('text'), Type.Literal('objects')]), size: Type.Integer() },
  closed,
);
export type DocumentReport = Static<typeof DocumentReport>;

export const BackendSecret = Type.Object({ secret: NullableText }, closed);
export type BackendSecret = Static<typeof BackendSecret>;

export const JobState = Type.Union([
  Type.Literal('due'),
  Type.Literal('delayed'),
  Type.Literal('waiting'),
  Type.Literal('leased'),
  Type.Literal('dead'),
]);
export type JobState = Static<typeof JobState>;

/** A queue of jobs, and how it stands. */
export const JobQueue = Type.Object(
  {
    queue: Type.String(),
    paused: Type.Boolean(),
    counts: Type.Object({ due: Count, delayed: Count, waiting: Count, leased: Count, dead: Count }, closed),
    lag_ms: Count,
  },
  closed,
);
export type JobQueue = Static<typeof JobQueue>;

/** A job, without what it carries. */
export const Job = Type.Object(
  {
    id: Type.String(),
    kind: Type.String(),
    state: JobState,
    order: NullableText,
    attempt: Count,
    attempts_max: Type.Integer({ minimum: 1 }),
    enqueued_at: Moment,
    due_at: Moment,
    last_reason: NullableText,
  },
  closed,
);
export type Job = Static<typeof Job>;

export const JobPage = Type.Object({ jobs: Type.Array(Job), next: NullableText }, closed);
export type JobPage = Static<typeof JobPage>;

export const JobRetried = Type.Object({ retried: Type.String() }, closed);
export type JobRetried = Static<typeof JobRetried>;

export const JobRemoved = Type.Object({ removed: Type.String() }, closed);
export type JobRemoved = Static<typeof JobRemoved>;

const pingFields = {
  ping_id: Type.String(),
  at: Moment,
  actor: NullableText,
  cause: Type.Enum(['call', 'push']),
  sources: Type.Array(Type.String()),
  has_message: Type.Boolean(),
  users: Count,
  devices: Count,
  skipped: Count,
  pending: Count,
  accepted: Count,
  sent: Count,
  retired: Count,
  failed: Count,
  gone: Count,
  collapsed: Count,
  repeated: Count,
};

/** A ping that was sent, and how many devices it reached. */
export const Ping = Type.Object(pingFields, closed);
export type Ping = Static<typeof Ping>;

/** What became of a ping on one device. */
export const PingResult = Type.Object(
  {
    client_id: Type.String(),
    service: Type.Union([Type.Enum([...PUSH_SERVICES]), Type.Null()]),
    status: Type.Enum(['retrying', 'accepted', 'sent', 'retired', 'failed', 'gone', 'collapsed']),
    reason: NullableText,
    attempts: Count,
    at: Moment,
    repeated: Type.Boolean(),
    answer_lost: Type.Boolean(),
  },
  closed,
);
export type PingResult = Static<typeof PingResult>;

export const PingWithResults = Type.Object({ ...pingFields, results: Type.Array(PingResult) }, closed);
export type PingWithResults = Static<typeof PingWithResults>;

/** The public key that browsers subscribe to pushes with. */
export const WebPushKey = Type.Object({ public_key: Type.String() }, closed);
export type WebPushKey = Static<typeof WebPushKey>;
