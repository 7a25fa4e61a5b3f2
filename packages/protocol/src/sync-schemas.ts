import { attributes, closed, flag, membersOf, moment, text, texts } from './annotated.ts';
import { FILES_ASKED_MAX } from './limits.ts';
import { Conflicts, Page, PartialError, PartitionType, References, SyncType } from './schemas.ts';
import type { Step } from './source-schema/step.ts';
import { type Static, Type } from './typebox.ts';

/**
 * The device protocol, `/sync/v1`. docs/reference/sync-protocol.md explains it. A schema with a `title` is listed under that
 * name in the API description.
 */

const CLIENT_ID = 'c3f1a2b4';
const OP_ID = 'f47ac10b58cc4372a5670e02b2c3d479';
const TOKEN = 'AAECAwQFBgc';
const JWT = 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJpc3MiOi….c2lnbmF0dXJl…';

const ClientId = text('The id of the device that the token was made for.', CLIENT_ID);

/** Outcomes that the device acknowledges, by source. */
const Acknowledged = membersOf(
  Type.Union([
    Type.Array(Type.String()),
    Type.Record(Type.String(), Type.Array(Type.String()), { description: 'Group → `op_id`s.' }),
  ]),
  'Outcomes that the device has processed: source → `op_id`s, or source → group → `op_id`s. They are not told again.',
  { Product: [OP_ID] },
);

function nullableToken(description: string) {
  return Type.Union([Type.String(), Type.Null()], { description, examples: [TOKEN] });
}

export const DeviceLogin = Type.Object(
  {
    login: Type.Optional(text('The login of the user.', 'anna')),
    password: Type.Optional(
      text('The password. It is passed on to the backend where one checks logins.', 'correct horse battery'),
    ),
    id_token: Type.Optional(text('An ID token of an identity provider, instead of login and password.', JWT)),
    access_token: Type.Optional(
      text('An access token of an identity provider that is a JWT, instead of the ID token.', JWT),
    ),
    invite: Type.Optional(text('The code of an invite, instead of login and password. It counts once.', 'tmi_4fS9…')),
    client: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description:
          'The `client_id` of an earlier login of this device. Absent, null, or not of this user: the device is new.',
        examples: [CLIENT_ID],
      }),
    ),
    device: Type.Optional(
      attributes('What the device says about itself, as in `PUT /sync/v1/clients/:client_id`.', {
        device_platform: 'web',
        device_system: 'Firefox 128 on Linux',
      }),
    ),
  },
  {
    ...closed,
    title: 'DeviceLogin',
    description: 'A login on a device: `login` and `password`, or `id_token`, or `access_token`, or `invite`.',
  },
);
export type DeviceLogin = Static<typeof DeviceLogin>;

export const DeviceSession = Type.Object(
  {
    token: text('The token of the device. Send it as `Authorization: Bearer`.', 'tmk_2vXq…'),
    user_id: text('The login of the user.', 'anna'),
    client_id: text('The id of the device. Store it and send it with the next login.', CLIENT_ID),
    expires_at: moment('When the token ends.'),
    generation: Type.Optional(
      Type.Integer({
        description:
          'Differs for every user who is given the same login. A device that holds data or changes of another generation must not show or send them.',
        examples: [17],
      }),
    ),
    wipe: Type.Optional(
      flag('True: an administrator has ordered to erase the device. It erases its data and confirms with this token.'),
    ),
  },
  { ...closed, title: 'DeviceSession', description: 'A login of a device.' },
);
export type DeviceSession = Static<typeof DeviceSession>;

/** A step from one version of a schema to the next. */
const StepOfVersion = Type.Unsafe<Step>(
  Type.Object(
    { step: Type.String({ description: 'What it does.', examples: ['rename'] }) },
    {
      additionalProperties: true,
      description: 'A step, with the members that belong to it.',
      examples: [{ step: 'rename', attribute: 'title', to: 'name' }],
    },
  ),
);

/** The versions of the schema of a source, as far as devices need them. */
export const SourceVersions = Type.Object(
  {
    version: Type.Integer({ minimum: 1, description: 'The present version of the schema.', examples: [2] }),
    steps: Type.Array(Type.Array(StepOfVersion), {
      description: 'The steps from each version to the next: the first list leads from version 1 to 2.',
      examples: [[[{ step: 'rename', attribute: 'title', to: 'name' }]]],
    }),
    oldest_version: Type.Integer({
      minimum: 1,
      description: 'Apps that were built with an older version get `app_too_old`.',
      examples: [1],
    }),
    converting: flag('True: some objects are still of the version before, and the server converts them.'),
  },
  {
    ...closed,
    title: 'SourceVersions',
    description: 'The versions of the schema of a source. Absent: it has no schema.',
  },
);
export type SourceVersions = Static<typeof SourceVersions>;

/** A source as a device sees it. */
export const SyncSource = Type.Object(
  {
    name: text('The name of the source.', 'Product'),
    partition_type: PartitionType,
    sync_type: SyncType,
    conflicts: Conflicts,
    read_only: flag('True: devices cannot change the objects of the source.'),
    references: References,
    searchable: flag('True: the adapter of the source can search.'),
    schema: Type.Optional(SourceVersions),
  },
  { ...closed, title: 'SyncSource', description: 'A source as a device sees it.' },
);
export type SyncSource = Static<typeof SyncSource>;

export const SyncSources = Type.Object(
  { sources: Type.Array(SyncSource, { description: 'The sources.' }) },
  { ...closed, title: 'SyncSources', description: 'The sources that a device can synchronise.' },
);
export type SyncSources = Static<typeof SyncSources>;

export const PullRequest = Type.Object(
  {
    client_id: ClientId,
    sources: membersOf(
      Type.Object(
        {
          token: Type.Optional(
            nullableToken('The token of the last page that was stored. Absent or null: the device holds nothing.'),
          ),
          mismatch: Type.Optional(
            flag('True: the device starts over because its objects did not match the checksum. It is only counted.'),
          ),
          groups: Type.Optional(
            membersOf(
              Type.Object(
                { token: Type.Optional(nullableToken('The token of the last page of the group that was stored.')) },
                closed,
              ),
              'Needed for a source whose data belongs to groups: each group that the device holds data of, with its token.',
              { north: { token: TOKEN } },
            ),
          ),
          set_token: Type.Optional(
            nullableToken(
              'Stands for the tokens of all groups that `groups` does not name. Null: the device has none and wants one.',
            ),
          ),
          only: Type.Optional(texts('Groups to pull. Absent: all groups of the user.', ['north'])),
          uploads: Type.Optional(texts('Groups in which the device waits for outcomes of its uploads.', ['north'])),
        },
        { ...closed, description: 'Where the device is in this source.' },
      ),
      'What to pull: source → token.',
      { Product: { token: TOKEN }, Order: {} },
    ),
    max_objects: Type.Optional(
      Type.Integer({ description: 'At most this many objects in the answer: a whole number from 1.', examples: [500] }),
    ),
    acknowledged: Type.Optional(Acknowledged),
  },
  { ...closed, title: 'PullRequest', description: 'A pull of one or several sources.' },
);
export type PullRequest = Static<typeof PullRequest>;

/** A source that cannot be pulled at all; the others are not affected. */
export const NoPage = Type.Object(
  { error: PartialError },
  { ...closed, title: 'NoPage', description: 'A source that cannot be pulled; the others are not affected.' },
);
export type NoPage = Static<typeof NoPage>;

export const UploadOp = Type.Union([Type.Literal('create'), Type.Literal('update'), Type.Literal('delete')], {
  description: 'What was done to the object.',
});
export type UploadOp = Static<typeof UploadOp>;

/** A change made on a device. */
export const Upload = Type.Object(
  {
    op_id: text('An id the device chooses, unique among its uploads. Repeating it repeats the outcome only.', OP_ID),
    source: text('The source of the object.', 'Product'),
    group: Type.Optional(
      text(
        'The group of the object, if the data of the source belongs to groups. Absent: the only one of the user.',
        'north',
      ),
    ),
    op: UploadOp,
    id: text('The id of the object; of a create, a temporary id that the device chooses.', 'tmp-1'),
    attributes: Type.Optional(
      attributes('All attributes of a create, the changed ones of an update.', { name: 'Pump', price: 9.5 }),
    ),
    removed: Type.Optional(texts('The attributes that an update removes from the object.', ['note'])),
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'The version of the schema of the source that the attributes are of; the server translates them. Absent: the present one.',
        examples: [1],
      }),
    ),
    /** The token of the state in which the change was made. */
    seen: Type.Optional(
      nullableToken('The token of the state in which the user made the change. Sources that detect conflicts need it.'),
    ),
  },
  { ...closed, title: 'Upload', description: 'A change made on a device.' },
);
export type Upload = Static<typeof Upload>;

export const OutcomeStatus = Type.Union(
  [Type.Literal('applied'), Type.Literal('queued'), Type.Literal('rejected'), Type.Literal('conflict')],
  {
    description:
      'What became of the upload. `queued`: the backend has not been asked yet, and another outcome follows.',
  },
);
export type OutcomeStatus = Static<typeof OutcomeStatus>;

/** The outcome of an upload. */
export const Outcome = Type.Object(
  {
    op_id: text('The id of the upload.', OP_ID),
    source: text('The source of the object.', 'Product'),
    group: Type.Optional(text('The group of the object, if the data of the source belongs to groups.', 'north')),
    status: OutcomeStatus,
    id: text("The object's id; not the one the device gave when the backend chose its own.", '17'),
    error: Type.Optional(PartialError),
    current: Type.Optional(
      Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], {
        description: 'Of a rejected or conflicting upload, the object as the server has it; null: there is none.',
        examples: [{ name: 'Pump', price: 10 }],
      }),
    ),
    conflicting: Type.Optional(
      texts(
        'Of an update in conflict, the attributes that somebody else has changed. None of the update was applied.',
        ['price'],
      ),
    ),
  },
  { ...closed, title: 'Outcome', description: 'The outcome of an upload.' },
);
export type Outcome = Static<typeof Outcome>;

/** The answer to a pull for one source whose data belongs to groups. */
export const GroupPages = Type.Object(
  {
    groups: Type.Record(Type.String(), Type.Union([Page, NoPage]), {
      description: 'Group → page, of the groups that have changes or that the device does not know yet.',
    }),
    gone: Type.Optional(
      texts('Groups that the device named and the user is not a member of. The device removes their data.', ['south']),
    ),
    changed: Type.Optional(
      texts('Groups that have changed since the set token was given. Pull again and name them with their tokens.', [
        'north',
      ]),
    ),
    set_token: Type.Optional(
      nullableToken(
        'Stands from now on for the tokens of all groups, as the device presented them. Null: the presented one is not known any more; pull again with the token of each group. Absent: the presented one stays.',
      ),
    ),
    more: flag('True: there are more changes in some group; pull again with the new tokens.'),
  },
  { ...closed, title: 'GroupPages', description: 'What changed in the groups of one source.' },
);
export type GroupPages = Static<typeof GroupPages>;

export const PullAnswer = Type.Object(
  {
    sources: Type.Record(Type.String(), Type.Union([Page, GroupPages, NoPage]), {
      description: 'Source → page, pages of its groups, or why there is none.',
    }),
    outcomes: Type.Array(Outcome, { description: 'Outcomes that the device has not acknowledged.' }),
    versions: Type.Optional(
      membersOf(
        Type.Integer({ minimum: 1 }),
        'Source → present version of its schema, of sources that have one and whose pages bring something. The objects are not newer.',
        { Product: 2 },
      ),
    ),
  },
  { ...closed, title: 'PullAnswer', description: 'One page of each source, and waiting outcomes.' },
);
export type PullAnswer = Static<typeof PullAnswer>;

export const PushRequest = Type.Object(
  {
    client_id: ClientId,
    changes: Type.Array(Upload, { description: 'The changes; those to one object are applied in this order.' }),
    acknowledged: Type.Optional(Acknowledged),
  },
  { ...closed, title: 'PushRequest', description: 'Changes made on a device.' },
);
export type PushRequest = Static<typeof PushRequest>;

export const PushAnswer = Type.Object(
  { outcomes: Type.Array(Outcome, { description: 'One outcome for each change, in their order.' }) },
  { ...closed, title: 'PushAnswer', description: 'The outcomes of the changes.' },
);
export type PushAnswer = Static<typeof PushAnswer>;

export const AckRequest = Type.Object(
  {
    client_id: ClientId,
    sources: membersOf(
      Type.Union([
        Type.String(),
        Type.Object(
          { groups: membersOf(Type.String(), 'Group → token.', { north: TOKEN }) },
          { ...closed, description: 'The tokens of the groups of a source.' },
        ),
      ]),
      'What the device holds: source → token of the last page that it has stored, or of the last page of each group.',
      { Product: TOKEN },
    ),
  },
  { ...closed, title: 'AckRequest', description: 'The tokens of a device after a catch-up.' },
);
export type AckRequest = Static<typeof AckRequest>;

export const AckAnswer = Type.Object(
  { acknowledged: texts('The sources whose token was accepted.', ['Product']) },
  { ...closed, title: 'AckAnswer', description: 'What was recorded.' },
);
export type AckAnswer = Static<typeof AckAnswer>;

export const WipedReport = Type.Object(
  {
    unsent_uploads: Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'How many changes made on the device were lost.',
      examples: [0],
    }),
  },
  { ...closed, title: 'WipedReport', description: 'What a device says when it has erased its data.' },
);
export type WipedReport = Static<typeof WipedReport>;

const LOST_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const lostFiles = (description: string) =>
  Type.Array(
    Type.String({ pattern: '^[0-9a-f]{64}$', description: 'The SHA-256 of a file.', examples: [LOST_SHA256] }),
    {
      maxItems: FILES_ASKED_MAX,
      description,
      examples: [[LOST_SHA256]],
    },
  );

export const LostFilesRequest = Type.Object(
  { files: lostFiles('Files that the server had, and that the device still has.') },
  { ...closed, title: 'LostFilesRequest', description: 'A question of a device which files the server has lost.' },
);
export type LostFilesRequest = Static<typeof LostFilesRequest>;

export const LostFiles = Type.Object(
  { files: lostFiles('Those of them that objects refer to and that are not stored. The device sends them again.') },
  { ...closed, title: 'LostFiles', description: 'What the server has lost.' },
);
export type LostFiles = Static<typeof LostFiles>;

export const ResetRequest = Type.Object(
  { sources: Type.Optional(texts('The sources to start over with; absent: all.', ['Product'])) },
  { ...closed, title: 'ResetRequest', description: 'Which sources a device starts over with.' },
);
export type ResetRequest = Static<typeof ResetRequest>;

export const SearchRequest = Type.Object(
  {
    source: text('The source to search in.', 'Product'),
    group: Type.Optional(text('The group to search in, if the data of the source belongs to groups.', 'north')),
    params: Type.Unknown({
      description: 'What to look for; the adapter says what it takes.',
      examples: [{ q: 'pump' }],
    }),
  },
  { ...closed, title: 'SearchRequest', description: 'A search by the adapter of a source.' },
);
export type SearchRequest = Static<typeof SearchRequest>;

/** A change together with the page that a device would pull, if it holds the token `from`. */
export interface LiveChange {
  readonly source: string;
  readonly from: string;
  /** The present version of the schema of the source. Absent: it has none. */
  readonly version?: number;
  readonly page: Page;
}

/** The events of the event stream, by name. They are hints: a device that misses one finds the change at its next pull. */
export interface SyncEvents {
  /** The first event. The server sends something at least this often. */
  readonly ready: { readonly heartbeat_s: number };
  /** Something changed in this source. */
  readonly changed: { readonly source: string } | LiveChange;
  /** Events were dropped: pull all sources. */
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
  /** The token has ended, or the device has connected again. The device must not reconnect with this token or connection. */
  readonly ended: { readonly code: string };
}
