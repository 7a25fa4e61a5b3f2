import { attributes, closed, count, flag, moment, nullableMoment, nullableText, text, texts } from './annotated.ts';
import { DEVICE_TYPES, PUSH_SERVICES, PUSH_TYPES } from './device-types.ts';
import { PartialError, SourceAttributes } from './schemas.ts';
import { Outcome } from './sync-schemas.ts';
import { type Static, Type } from './typebox.ts';

/**
 * The answers of `/rc/v1`, the REST API for administrators and backends. A schema with a `title` is listed under that
 * name in the API description.
 */

const CLIENT_ID = 'c3f1a2b4';
const PING_ID = '0kz8m1q7vK3pXc9RtYb2Lw5DnHs6JfG';

export const AdminSession = Type.Object(
  {
    token: text('The token. Send it as `X-Sync-API-TOKEN` or as `Authorization: Bearer`.', 'tmk_2vXq…'),
    user: text('The login of the administrator.', 'admin'),
    expires_at: moment('When the token ends.'),
  },
  { ...closed, title: 'AdminSession', description: 'A login of an administrator.' },
);
export type AdminSession = Static<typeof AdminSession>;

/** A session of the web console. */
const ConsoleSession = Type.Object(
  {
    user: text('The login.', 'admin'),
    token_id: text('The id of the token that the session uses.', '9f86d081884c7d65'),
    scopes: texts('What the session may do.', ['admin']),
    expires_at: nullableMoment('When it ends; null: when its token is revoked.'),
  },
  { ...closed, title: 'ConsoleSession', description: 'A session of the web console.' },
);

export const CurrentSession = Type.Object(
  {
    session: Type.Union([ConsoleSession, Type.Null()], {
      description: 'The session; null: nobody is signed in.',
      examples: [null],
    }),
  },
  { ...closed, title: 'CurrentSession', description: 'Who is signed in to the web console.' },
);
export type CurrentSession = Static<typeof CurrentSession>;

export const SignInProvider = Type.Object(
  {
    name: nullableText('The name of the identity provider; null: administrators cannot sign in with one.', 'company'),
  },
  { ...closed, title: 'SignInProvider', description: 'The identity provider that administrators sign in with.' },
);
export type SignInProvider = Static<typeof SignInProvider>;

export const SignInStart = Type.Object(
  { url: text('Where the browser goes to sign in.', 'https://id.example/auth?client_id=…') },
  { ...closed, title: 'SignInStart', description: 'A sign-in that was begun.' },
);
export type SignInStart = Static<typeof SignInStart>;

/** The licence in use; `seats: null` means that nothing is capped. */
export const License = Type.Object(
  {
    license: text('The SPDX identifier of the licence.', 'Apache-2.0'),
    edition: text('The edition of the server.', 'community'),
    licensee: nullableText('Who runs the server, as the configuration says; null: it does not say.', 'Example Ltd'),
    seats: Type.Null({ description: 'Always null: the number of devices has no cap.' }),
    devices: Type.Integer({ description: 'How many devices are registered.', examples: [42] }),
    available: Type.Null({ description: 'Always null: the number of devices has no cap.' }),
    issued: nullableMoment('When this installation was first started.'),
    expires: Type.Null({ description: 'Always null: the licence does not end.' }),
    version: text('The version of the server.', '0.1.0'),
  },
  { ...closed, title: 'License', description: 'The licence in use.' },
);
export type License = Static<typeof License>;

/** A setting of the running server. */
export const SettingInForce = Type.Object(
  {
    name: text('The name in the configuration file.', 'devices.retention_days'),
    value: Type.Unknown({ description: 'The value; a secret that is set is shown as `***`.', examples: [90] }),
    origin: text('Where the value comes from: a flag, a variable, a file, or `default`.', 'TIDEMARK_PORT'),
    kind: Type.Enum(['default', 'file', 'environment', 'secret_file', 'flag'], {
      description: 'The kind of origin.',
      examples: ['environment'],
    }),
    warning: Type.Union([Type.String(), Type.Null()], {
      description: 'Why the value is risky; null: it is not.',
      examples: ['admin_password is a commonly guessed password; choose another'],
    }),
  },
  { ...closed, title: 'SettingInForce', description: 'A setting with its value and its origin.' },
);
export type SettingInForce = Static<typeof SettingInForce>;

/** A copy of the data, made while the server runs. */
export const Backup = Type.Object(
  {
    name: text('The name of the backup, which is that of its folder.', '2030-01-31T12-00-00-000Z'),
    made_at: moment('When it was complete.'),
    bytes: count('Its size on the disk.', 20_568),
  },
  { ...closed, title: 'Backup', description: 'A complete backup.' },
);
export type Backup = Static<typeof Backup>;

export const BackupList = Type.Object(
  {
    folder: text('The folder on the server that holds the backups.', '/var/lib/tidemark/backups'),
    free_bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Free space on the disk of that folder; null: unknown, because there is no folder yet.',
      examples: [4_000_000_000],
    }),
    backups: Type.Array(Backup, { description: 'The backups, newest first.' }),
  },
  { ...closed, title: 'BackupList', description: 'The backups of the server.' },
);
export type BackupList = Static<typeof BackupList>;

export const BackupCheck = Type.Object(
  {
    name: text('The name of the backup.', '2030-01-31T12-00-00-000Z'),
    is_undamaged: flag('True: nothing was found.'),
    findings_count: count('How many differences were found.', 0),
    findings: Type.Array(
      Type.Object(
        {
          source: nullableText('The source it is about; null: the whole store.', 'Product'),
          problem: text('The kind of damage.', 'wrong_checksum'),
          detail: text('What was found, in words.', 'the checksum is 17 and should be 18'),
        },
        { ...closed, title: 'BackupFinding', description: 'A difference between a backup and what its records say.' },
      ),
      { description: 'The first of them.' },
    ),
  },
  { ...closed, title: 'BackupCheck', description: 'The result of verifying a backup.' },
);
export type BackupCheck = Static<typeof BackupCheck>;

export const ResetReport = Type.Object(
  { epoch: text('The new epoch of the store. Tokens of devices from before it start over.', 'b7Qk2x') },
  { ...closed, title: 'ResetReport', description: 'The result of a reset.' },
);
export type ResetReport = Static<typeof ResetReport>;

/** The address of the backend; null: there is none. */
export const Appserver = Type.Object(
  {
    adapter_url: nullableText(
      'The URL under which the backend answers calls; null: there is no backend.',
      'https://app.example/tidemark',
    ),
  },
  { ...closed, title: 'Appserver', description: 'Where the backend is.' },
);
export type Appserver = Static<typeof Appserver>;

/** The result of checking the backend by calling it. */
export const AppserverCheck = Type.Object(
  {
    name: text('What was looked at: address, reachable, logins, signature, or a source.', 'source Product'),
    status: Type.Enum(['ok', 'warning', 'failed'], { description: 'The result of the check.', examples: ['ok'] }),
    detail: text('What was found, in words.', 'query returned 200 objects'),
  },
  { ...closed, title: 'AppserverCheck', description: 'One check of the backend.' },
);
export type AppserverCheck = Static<typeof AppserverCheck>;
export const AppserverChecks = Type.Object(
  { checks: Type.Array(AppserverCheck, { description: 'The checks, in the order in which they ran.' }) },
  { ...closed, title: 'AppserverChecks', description: 'The result of checking the backend.' },
);
export type AppserverChecks = Static<typeof AppserverChecks>;

/** A call to the backend that failed. */
export const BackendFailure = Type.Object(
  {
    at: moment('When the call failed.'),
    call: text('The call: `authenticate`, `query`, `search`, `create`, `update` or `delete`.', 'query'),
    source: nullableText('The source; null: the call is about none.', 'Product'),
    user_id: nullableText('The login of the user; null: the call is about none.', 'anna'),
    op_id: nullableText('The upload; null: the call is none.', null),
    status: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The status of the answer; null: there was none.',
      examples: [503],
    }),
    code: text('The code of the failure.', 'backend_error'),
    reason: text('What went wrong, in words.', 'the backend answered 503'),
    detail: nullableText(
      'What the backend said: the `detail` of its answer, or the beginning of its body; null: nothing. Secrets of the call are masked.',
      'the database is away',
    ),
    duration_ms: Type.Number({ description: 'How long the call took, in milliseconds.', examples: [120] }),
    webhook_id: text('The header `webhook-id` of the call, to find it in the log of the backend.', 'msg_2vXq…'),
  },
  { ...closed, title: 'BackendFailure', description: 'A call to the backend that failed.' },
);
export type BackendFailure = Static<typeof BackendFailure>;
export const BackendFailures = Type.Object(
  { failures: Type.Array(BackendFailure, { description: 'The calls, newest first.' }) },
  { ...closed, title: 'BackendFailures', description: 'The last calls to the backend that failed.' },
);
export type BackendFailures = Static<typeof BackendFailures>;

const UserIdentity = Type.Object(
  {
    issuer: text('The identity provider, by the claim `iss`.', 'https://id.example'),
    subject: text('The user there, by the claim `sub`.', '248289761001'),
  },
  { ...closed, title: 'UserIdentity', description: 'Who a user is at an identity provider.' },
);

export const User = Type.Object(
  {
    login: text('The login, which is the id of the user.', 'anna'),
    attributes: attributes('What was set about the user; never the password.', { email: 'anna@example.org' }),
    clients: count('How many devices the user has.', 2),
    identity: Type.Union([UserIdentity, Type.Null()], {
      description: 'Who the user is at an identity provider; null: none vouches for the user.',
      examples: [null],
    }),
    created_at: moment('When the user was created.'),
    updated_at: moment('When the user was last changed.'),
  },
  { ...closed, title: 'User', description: 'A user.' },
);
export type User = Static<typeof User>;

export const Invite = Type.Object(
  {
    user_id: text('The login of the user.', 'anna'),
    code: text('The code that a device signs in with, once. It is shown only here.', 'tmi_4fS9…'),
    link: nullableText(
      'A link that ends in the code, for the app to open; null: the server has no `public_url`.',
      'https://sync.example/invite#tmi_4fS9…',
    ),
    expires_at: moment('When the code ends.'),
  },
  { ...closed, title: 'Invite', description: 'A code with which a device signs in once.' },
);
export type Invite = Static<typeof Invite>;

export const PingReport = Type.Object(
  {
    ping_id: text('The id under which the results of the ping can be read.', PING_ID),
    users: count('How many of the named users exist.', 1),
    devices: count('How many devices the ping is on its way to.', 2),
    skipped: Type.Array(
      Type.Object(
        {
          client_id: text('The id of the device.', CLIENT_ID),
          reason: text(
            'Why: `no_device_type`, `device_type_none`, `no_device_pin`, `duplicate`, `up_to_date` or `queue_full`.',
            'no_device_pin',
          ),
        },
        { ...closed, description: 'A device that gets no ping.' },
      ),
      { description: 'Devices of the users that get no ping, and why.' },
    ),
    unknown_users: texts('Named users that do not exist.', []),
  },
  { ...closed, title: 'PingReport', description: 'Where a ping was sent.' },
);
export type PingReport = Static<typeof PingReport>;

export const RefreshDue = Type.Object(
  { refresh_at: moment('When the data is due to be queried again.') },
  { ...closed, title: 'RefreshDue', description: 'When a source is due to be refreshed.' },
);
export type RefreshDue = Static<typeof RefreshDue>;

export const Source = Type.Object(
  {
    ...SourceAttributes.properties,
    configured: flag('True: the configuration of the server declares the source.'),
    created_at: moment('When the source was declared.'),
    updated_at: moment('When its attributes were last changed.'),
    updated_by: nullableText('The `user_name` of the last update; null: there was none.', 'anna'),
    counts: Type.Object(
      {
        objects: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Objects of a shared source; null where the data belongs to users.',
          examples: [1_200],
        }),
      },
      { ...closed, description: 'How much data the source has.' },
    ),
  },
  { ...closed, title: 'Source', description: 'A source with its attributes.' },
);
export type Source = Static<typeof Source>;

/** How far a device is in one source: the last page it got, its last complete state, and the newest change. */
export const DeviceCursor = Type.Object(
  {
    seq: count('The sequence number up to which the device has been given pages.', 1040),
    base: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description:
        'The sequence number of its last complete catch-up; null: it has not caught up since it started over.',
      examples: [1_001],
    }),
    head: count('The newest sequence number of the partition.', 1042),
    seen_at: moment('When the device last presented a token.'),
  },
  { ...closed, title: 'DeviceCursor', description: 'How far a device is in one source.' },
);
export type DeviceCursor = Static<typeof DeviceCursor>;

/** The order to erase a device. */
export const WipeOrder = Type.Object(
  {
    ordered_at: moment('When the wipe was ordered.'),
    ordered_by: text('The login of the administrator who ordered it.', 'admin'),
    confirmed_at: nullableMoment('When the device confirmed that it has erased everything; null: not yet.'),
    unsent_uploads: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'How many changes made on the device were lost, as the device says; null: it has not confirmed.',
      examples: [0],
    }),
  },
  { ...closed, title: 'WipeOrder', description: 'The order to erase a device.' },
);
export type WipeOrder = Static<typeof WipeOrder>;

/** A device. */
export const Client = Type.Object(
  {
    client_id: text('The id of the device.', CLIENT_ID),
    user_id: text('The login of its user.', 'anna'),
    device_type: nullableText(`How pings reach it: ${listed(DEVICE_TYPES)}; null: it has not said.`, 'android'),
    device_pin: nullableText('Its address at the push service; `***` unless the token has the scope `admin`.', '***'),
    device_port: nullableText('The port that belongs to the address, where the push service uses one.', null),
    device_push_type: nullableText(
      `The push service, where it does not follow from the type: ${listed(PUSH_TYPES)}.`,
      'fcm',
    ),
    device_app_id: nullableText('The id of the app on the device.', 'org.example.field'),
    device_app_version: nullableText('The version of the app.', '2.4.0'),
    phone_id: nullableText('An id of the hardware, which tells reinstalled apps from other devices.', null),
    last_sync: nullableMoment('When the device last pulled; null: never.'),
    created_at: moment('When the device was registered.'),
    wipe: Type.Union([WipeOrder, Type.Null()], {
      description: 'The order to erase the device; null: there is none.',
      examples: [null],
    }),
    cursors: Type.Record(Type.String(), DeviceCursor, {
      description: 'How far the device is: source → cursor.',
    }),
  },
  { ...closed, title: 'Client', description: 'A device.' },
);
export type Client = Static<typeof Client>;

function listed(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(', ');
}

const tokenFields = {
  id: text('The id of the token, which is not the token itself.', '9f86d081884c7d65'),
  user: text('The login of the user it belongs to.', 'admin'),
  name: nullableText('The name it was made with; null: it came from a login.', 'backend'),
  scopes: texts('What it may do: `admin`, `admin:reset`, `read`, `push`, `device`.', ['push']),
  client: nullableText('The device it was made for; null: it is not for a device.', null),
  created_at: moment('When it was made.'),
  expires_at: nullableMoment('When it ends; null: when it is revoked.'),
};
export const Token = Type.Object(tokenFields, {
  ...closed,
  title: 'Token',
  description: 'A token, without the token itself.',
});
export type Token = Static<typeof Token>;

/** The only answer that contains the token itself. */
export const NewToken = Type.Object(
  { token: text('The token itself. No other answer shows it.', 'tmk_2vXq…'), ...tokenFields },
  { ...closed, title: 'NewToken', description: 'A token that was just made.' },
);
export type NewToken = Static<typeof NewToken>;

/** A user after a change. `tokens` lists named tokens that a new password of an administrator has not revoked. */
export const ChangedUser = Type.Object(
  {
    ...User.properties,
    kept_tokens: Type.Optional(
      Type.Array(Token, { description: 'Named tokens that a new password of an administrator has not revoked.' }),
    ),
  },
  { ...closed, title: 'ChangedUser', description: 'A user after a change.' },
);
export type ChangedUser = Static<typeof ChangedUser>;

export const Revoked = Type.Object(
  { revoked: text('The id of the token.', '9f86d081884c7d65') },
  { ...closed, title: 'Revoked', description: 'A token that was revoked.' },
);
export type Revoked = Static<typeof Revoked>;

export const Deleted = Type.Object(
  { deleted: text('The name or id of what was deleted.', 'anna') },
  { ...closed, title: 'Deleted', description: 'What was deleted.' },
);
export type Deleted = Static<typeof Deleted>;

/** One line of the audit trail. */
export const AuditFact = Type.Object(
  {
    id: text('The id of the fact; `after` of the next page.', '0kz8m1q7v-9f86d081884c'),
    at: moment('When it happened first.'),
    actor: nullableText('The login; null: nobody was recognised.', 'admin'),
    token_id: nullableText('The id of the token that was used; null: none was.', '9f86d081884c7d65'),
    action: text('What was done.', 'user.create'),
    target: nullableText('What it was done to: a path of the API.', '/rc/v1/users'),
    result: text('`ok`, or the code of the refusal.', 'ok'),
    address: text('The address of the caller; `*`: several.', '192.0.2.7'),
    request_id: text('The id of the request.', '6f0c1b0e-9a53-4c0f-8a4e-2f6f3f0b7a11'),
    count: Type.Integer({ description: 'How often it happened; only failed logins are summed up.', examples: [1] }),
  },
  { ...closed, title: 'AuditFact', description: 'One line of the audit trail.' },
);
export type AuditFact = Static<typeof AuditFact>;

export const DocumentReport = Type.Object(
  {
    doc: text('The name of the document.', 'settings'),
    type: Type.Union([Type.Literal('text'), Type.Literal('objects')], {
      description: 'What the document holds: a string, or a hash of hashes.',
    }),
    size: Type.Integer({ description: 'Characters of a text, or number of objects.', examples: [12] }),
  },
  { ...closed, title: 'DocumentReport', description: 'A document after it was written.' },
);
export type DocumentReport = Static<typeof DocumentReport>;

const ListedObject = Type.Object(
  {
    id: text('The id of the object.', '17'),
    seq: count('The seq of its last change.', 1042),
    created_seq: count('The seq at which it was created or last replaced as a whole.', 1001),
    changed: Type.Record(Type.String(), Type.Integer(), {
      description: 'Attributes that changed or were removed since then: attribute → seq.',
      examples: [{ price: 1042 }],
    }),
    attributes: attributes('Its attributes.', { name: 'Pump', price: 9.5 }),
  },
  { ...closed, title: 'ListedObject', description: 'An object, and when its attributes changed.' },
);

/** A page of the objects of a source. */
export const ObjectList = Type.Object(
  {
    size: count('How many objects there are.', 250),
    head: count('The newest seq.', 1042),
    objects: Type.Array(ListedObject, { description: 'The objects, in the order of their last change.' }),
    next: nullableSeq('Send it as `after` for the next page; null: this is the last.'),
  },
  { ...closed, title: 'ObjectList', description: 'A page of the objects of a source.' },
);
export type ObjectList = Static<typeof ObjectList>;

export const BackendSecret = Type.Object(
  {
    secret: nullableText('The secret; null: it stands in the configuration.', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
  },
  { ...closed, title: 'BackendSecret', description: 'The secret that signs calls to the backend.' },
);
export type BackendSecret = Static<typeof BackendSecret>;

export const JobState = Type.Union(
  [Type.Literal('due'), Type.Literal('delayed'), Type.Literal('waiting'), Type.Literal('leased'), Type.Literal('dead')],
  {
    title: 'JobState',
    description:
      '`due`: it can run; `delayed`: its time has not come; `waiting`: another job of the same order comes first; `leased`: it runs; `dead`: all its attempts failed.',
  },
);
export type JobState = Static<typeof JobState>;

/** A queue of jobs, with the number of jobs in each state. */
export const JobQueue = Type.Object(
  {
    queue: text('The name of the queue.', 'uploads'),
    paused: flag('True: no job of the queue is begun until it is resumed.'),
    counts: Type.Object(
      {
        due: count('Jobs that can run.', 3),
        delayed: count('Jobs whose time has not come.', 1),
        waiting: count('Jobs behind another job of the same order.', 0),
        leased: count('Jobs that run.', 2),
        dead: count('Jobs whose attempts all failed.', 0),
      },
      { ...closed, description: 'How many jobs are in which state.' },
    ),
    lag_ms: count('For how many milliseconds the oldest due job has been due.', 120),
  },
  { ...closed, title: 'JobQueue', description: 'A queue of jobs.' },
);
export type JobQueue = Static<typeof JobQueue>;

/** A job, without its payload. */
export const Job = Type.Object(
  {
    id: text('The id of the job.', 'j-1f9'),
    kind: text('What kind of work it is.', 'upload'),
    state: JobState,
    order: nullableText('Jobs of the same order run one after the other; null: it has none.', null),
    attempt: count('How many attempts there were.', 1),
    attempts_max: Type.Integer({ minimum: 1, description: 'How many attempts it has.', examples: [5] }),
    enqueued_at: moment('When it was enqueued.'),
    due_at: moment('When it is or was due.'),
    last_reason: nullableText('Why the last attempt failed; null: none did.', null),
  },
  { ...closed, title: 'Job', description: 'A job, without its payload.' },
);
export type Job = Static<typeof Job>;

export const JobPage = Type.Object(
  {
    jobs: Type.Array(Job, { description: 'The jobs of this page.' }),
    next: nullableText('`after` of the next page; null: this is the last.', null),
  },
  { ...closed, title: 'JobPage', description: 'A page of jobs.' },
);
export type JobPage = Static<typeof JobPage>;

export const JobRetried = Type.Object(
  { retried: text('The id of the job.', 'j-1f9') },
  { ...closed, title: 'JobRetried', description: 'A dead job that is due again.' },
);
export type JobRetried = Static<typeof JobRetried>;

export const JobRemoved = Type.Object(
  { removed: text('The id of the job.', 'j-1f9') },
  { ...closed, title: 'JobRemoved', description: 'A job that was removed.' },
);
export type JobRemoved = Static<typeof JobRemoved>;

const pingFields = {
  ping_id: text('The id of the ping.', PING_ID),
  at: moment('When it was sent.'),
  actor: nullableText('Who sent it; null: the server, after a push.', 'backend'),
  cause: Type.Enum(['call', 'push', 'repeat'], {
    description:
      '`call`: somebody sent it; `push`: a push to a source with `push_notify` did; `repeat`: devices were still behind after that.',
  }),
  sources: texts('The sources that devices are to sync.', ['Product']),
  has_message: flag('True: it carries a text to show.'),
  users: count('How many of the named users exist.', 1),
  devices: count('How many devices it goes to.', 2),
  skipped: count('Devices of those users that get none.', 0),
  pending: count('Devices without a final result.', 0),
  accepted: count('Devices whose push service has taken it.', 1),
  sent: count('Devices that got it on their open connection.', 1),
  retired: count('Devices whose address is dead.', 0),
  failed: count('Devices that will not get it.', 0),
  gone: count('Devices that were deleted or have no address any more.', 0),
  collapsed: count('Devices that a later ping has told the same.', 0),
  repeated: count('Devices that may have got it twice.', 0),
};

/** A ping that was sent, and how many devices it reached. */
export const Ping = Type.Object(pingFields, {
  ...closed,
  title: 'Ping',
  description: 'A ping that was sent, and how many devices it reached.',
});
export type Ping = Static<typeof Ping>;

/** The result of a ping on one device. */
export const PingResult = Type.Object(
  {
    client_id: text('The id of the device.', CLIENT_ID),
    service: Type.Union([Type.Enum([...PUSH_SERVICES]), Type.Null()], {
      description: 'The service that delivered it; null: none did.',
    }),
    status: Type.Enum(['retrying', 'accepted', 'sent', 'retired', 'failed', 'gone', 'collapsed'], {
      description: 'The result; docs/operating/pings.md explains each status.',
    }),
    reason: nullableText('Why it failed; null: it did not.', null),
    attempts: count('How many attempts there were.', 1),
    at: moment('When that became known.'),
    repeated: flag('True: the device may have got it twice.'),
    answer_lost: flag('True: nobody knows whether the last attempt arrived.'),
    caught_up_by: Type.Union([moment('A time.'), Type.Null()], {
      description:
        'When the device had acknowledged, at the latest, what the sources of the ping held when it was sent; null: it has not, or the ping names no source.',
    }),
  },
  { ...closed, title: 'PingResult', description: 'The result of a ping on one device.' },
);
export type PingResult = Static<typeof PingResult>;

export const PingWithResults = Type.Object(
  { ...pingFields, results: Type.Array(PingResult, { description: 'A page of results, by client id.' }) },
  { ...closed, title: 'PingWithResults', description: 'A ping with a page of its results.' },
);
export type PingWithResults = Static<typeof PingWithResults>;

/** The public key that browsers subscribe to pushes with. */
export const WebPushKey = Type.Object(
  { public_key: text('The `applicationServerKey` of a subscription, in base64url.', 'BPbN…') },
  { ...closed, title: 'WebPushKey', description: 'The public key that browsers subscribe to pushes with.' },
);
export type WebPushKey = Static<typeof WebPushKey>;

const BehindDevice = Type.Object(
  {
    client_id: text('The id of the device.', CLIENT_ID),
    user_id: text('The user of the device.', 'anna'),
    acknowledged: Type.Union([Type.Integer(), Type.Null()], {
      description: 'The seq up to which the device holds every change; null: it is starting over.',
      examples: [1040],
    }),
    missing: count('Changes after that; of a device that starts over, the objects of the source.', 2),
    last_contact: moment('When the device was last seen.'),
  },
  { ...closed, title: 'BehindDevice', description: 'A device that has not acknowledged the seq.' },
);

/** The groups of a user. */
export const UserGroups = Type.Object(
  {
    user_id: text('The login of the user.', 'anna'),
    groups: texts('The groups that the user is a member of, sorted.', ['north', 'south']),
  },
  { ...closed, title: 'UserGroups', description: 'The groups of a user.' },
);
export type UserGroups = Static<typeof UserGroups>;

/** The result of replacing the members of a group. */
export const GroupMembersReport = Type.Object(
  {
    group: text('The group.', 'north'),
    added: count('Users who have become members.', 2),
    removed: count('Users who are no members any more.', 0),
  },
  { ...closed, title: 'GroupMembersReport', description: 'What changed about the members of a group.' },
);
export type GroupMembersReport = Static<typeof GroupMembersReport>;

/** Which devices have acknowledged a push. */
export const Receipt = Type.Object(
  {
    source: text('The source.', 'Product'),
    user_id: nullableText('Whose devices are counted; null: all devices.', null),
    group: Type.Optional(text('The group whose devices are counted.', 'north')),
    seq: count('The seq that the receipt is about.', 1042),
    head: count('The newest seq of the source.', 1042),
    devices: count('All devices that are counted.', 100),
    delivered: count('Devices that have acknowledged the seq.', 97),
    behind: count('Devices that have synchronised the source, and not acknowledged the seq.', 2),
    never_synced: count('Devices that have never synchronised the source, or not since it was reset.', 1),
    oldest_behind_at: nullableMoment(
      'When the device that is furthest behind last synchronised the source; null: none is.',
    ),
    behind_devices: Type.Array(BehindDevice, { description: 'A page of the devices behind, the furthest first.' }),
    next: nullableText('Send it as `after` for the next page; null: there is none.', null),
    active_delivered: Type.Optional(
      flag('Only with `wait_s`: true if all devices have it that were seen in the last 24 hours.'),
    ),
  },
  { ...closed, title: 'Receipt', description: 'Which devices have acknowledged a push.' },
);
export type Receipt = Static<typeof Receipt>;

/** What `explain` can find. docs/operating/explain.md says what each means. */
const VERDICTS = [
  ...['current', 'behind', 'pending', 'deleted', 'deletion_pending', 'device_away', 'starting_over', 'never_synced'],
  ...['other_epoch', 'upload_queued', 'upload_rejected', 'other_partition', 'refresh_failing', 'not_in_backend'],
  ...['trimmed_or_never_existed', 'never_existed'],
];

const Trouble = Type.Union([PartialError, Type.Null()], {
  description: 'What went wrong; null: nothing.',
  examples: [null],
});

function nullableSeq(description: string) {
  return Type.Union([Type.Integer(), Type.Null()], { description, examples: [1040] });
}

/** Why a device holds an object, or does not. */
export const Explanation = Type.Object(
  {
    verdict: Type.Enum(VERDICTS, { description: 'The verdict; docs/operating/explain.md lists them.' }),
    sentence: text('What is the case.', 'The device holds object "1" of "Product" in its current version.'),
    remedy: text('What to do about it; empty: nothing.', ''),
    attributes: texts('Attributes that the device holds in an older version.', ['price']),
    evidence: Type.Object(
      {
        object_seq: nullableSeq('The seq of the last change of the object; null: the source does not have it.'),
        changed_at: nullableMoment('When the object last changed or was deleted, at the earliest; null: unknown.'),
        changed_by: nullableMoment('The same, at the latest.'),
        behind_since: nullableMoment(
          'When the oldest change was committed that the device has not acknowledged; null: none, or unknown.',
        ),
        head: count('The newest seq of the source.', 1042),
        floor: count('The seq up to which tombstones are trimmed.', 900),
        acknowledged: nullableSeq('The seq up to which the device holds every change; null: nothing.'),
        catching_up_at: nullableSeq('How far the pages of an incomplete catch-up went; null: there is none.'),
        last_contact: nullableMoment('When the device was last seen.'),
        upload: Type.Union(
          [Type.Object({ status: text('Its status.', 'rejected'), error: Trouble }, closed), Type.Null()],
          {
            description: 'The upload of this device to the object that it has not acknowledged; null: there is none.',
          },
        ),
        refreshed_at: nullableMoment('When the source was last refreshed from its backend.'),
        refresh_error: Trouble,
      },
      { ...closed, description: 'What the verdict is based on.' },
    ),
  },
  { ...closed, title: 'Explanation', description: 'Why a device holds an object, or does not.' },
);
export type Explanation = Static<typeof Explanation>;

/** How far a device is with one source. */
export const SourceSync = Type.Object(
  {
    source: text('The source.', 'Product'),
    group: Type.Optional(text('The group, if the data of the source belongs to groups.', 'north')),
    acknowledged: nullableSeq('The seq up to which the device holds every change; null: nothing.'),
    head: count('The newest seq of the source.', 1042),
    waiting: nullableSeq('Changes after that; null: the device starts over.'),
    objects: count('Objects of the source.', 250),
    next_page_bytes: count('The size of the page that the device gets next.', 512),
    last_pull: nullableMoment('When the device last pulled the source.'),
    error: Trouble,
    uploads_waiting: count('Uploads of the device that are queued.', 0),
    last_outcomes: Type.Array(Outcome, { description: 'Outcomes that the device has not acknowledged.' }),
  },
  { ...closed, title: 'SourceSync', description: 'How far a device is with one source.' },
);
export type SourceSync = Static<typeof SourceSync>;

export const ClientSync = Type.Object(
  {
    online: flag('Whether the device listens for events now, at any server. A device that only polls is never online.'),
    sources: Type.Array(SourceSync, { description: 'All sources.' }),
  },
  { ...closed, title: 'ClientSync', description: 'How far a device is with each source.' },
);
export type ClientSync = Static<typeof ClientSync>;
