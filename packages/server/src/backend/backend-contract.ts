import { attributes, closed, flag, moment, nullableText, objects, text, texts } from '@tidemark/protocol/annotated';
import { PartitionType } from '@tidemark/protocol/schemas';
import { type TSchema, Type } from '@tidemark/protocol/typebox';

/** Describes the calls from this server to a backend. No other file knows their paths and bodies. */

const ActingUser = text('The user who asks, also if the source is shared.', 'anna');
const Source = text('The name of the source.', 'Product');
const Group = Type.Optional(text('The group, if the data of the source belongs to groups.', 'north'));
const OpId = text(
  'Identifies the change. It is the same at every repetition, so that a change is not applied twice.',
  'f47ac10b58cc4372a5670e02b2c3d479',
);
const ObjectId = text("The backend's id of the object.", '17');
const Objects = objects('A hash of hashes: object id → attributes.');
const Done = Type.Object(
  {
    pushed: Type.Optional(
      flag('True: the backend pushes the object by itself, so Tidemark writes the outcome and nothing else.'),
    ),
  },
  { title: 'Done', description: 'The change is made.' },
);
const Seen = Type.Optional(
  attributes('The values that the device saw, if the source detects conflicts.', { price: 9.5 }),
);

const Files = Type.Optional(
  Type.Record(
    Type.String(),
    Type.Object(
      {
        url: text('Where the bytes of the file are, without a token.', 'https://sync.example/files/e3b0…?expires=…'),
        expires_at: moment('When the link ends.'),
      },
      { description: 'A link to a file.' },
    ),
    {
      description: 'Links to the files that the attributes refer to, by their SHA-256. Absent: they refer to none.',
      examples: [{}],
    },
  ),
);

export interface BackendCallContract {
  readonly summary: string;
  /** Details beyond the summary. */
  readonly description: string;
  readonly request: TSchema;
  readonly answer: TSchema;
  /** Statuses other than 2xx with a meaning specific to the call. */
  readonly refusals: Readonly<Record<string, string>>;
}

const UPLOAD_REFUSALS = {
  '409': 'A conflict: the object has changed since. The device is told; the change is not repeated.',
  '4XX': 'The change is refused. The device receives `detail`; the change is not repeated.',
};
const AT_LEAST_ONCE =
  'Called at least once for each change: remember `op_id` with your answer, and give the same answer to a repetition.';

export const BACKEND_CALLS = {
  authenticate: {
    summary: 'Check login and password',
    description: 'Called when a device logs in.',
    request: Type.Object(
      {
        login: text('The entered login.', 'anna'),
        password: text('The entered password.', 'correct horse battery'),
      },
      { ...closed, title: 'AuthenticateRequest', description: 'A login on a device.' },
    ),
    answer: Type.Object(
      {
        user_id: Type.Optional(nullableText('The id of the user; absent or null: it is the login.', 'anna')),
        groups: Type.Optional(
          Type.Union([Type.Array(Type.String()), Type.Null()], {
            description: 'The groups of the user, which replace those before; absent or null: they stay.',
            examples: [['north', 'south']],
          }),
        ),
      },
      { title: 'Authenticated', description: 'The login is right.' },
    ),
    refusals: {
      '401': 'Login or password is wrong, unless `code` is about the signature.',
      '403': 'The user may not log in.',
      '4XX': 'The call failed; the device is told to try again later.',
    },
  },
  query: {
    summary: 'Return all objects of a source, or of a source and user or group',
    description:
      'The answer replaces the data: what is missing in it is deleted. 204 without a body leaves the data as it is, for backends that push every change.',
    request: Type.Object(
      {
        source: Source,
        user_id: nullableText('Whose data it is; null when users share the data.', 'anna'),
        partition: PartitionType,
        group: Group,
      },
      { ...closed, title: 'QueryRequest', description: 'What to query.' },
    ),
    answer: Objects,
    refusals: { '4XX': 'The query is refused. Nothing changes; it is repeated later.' },
  },
  create: {
    summary: 'Create an object that a device has created',
    description: AT_LEAST_ONCE,
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        group: Group,
        op_id: OpId,
        id: text("The device's temporary id.", 'tmp-1'),
        attributes: attributes('All attributes of the object.', { name: 'Pump', price: 9.5 }),
        files: Files,
      },
      { ...closed, title: 'CreateRequest', description: 'An object to create.' },
    ),
    answer: Type.Object(
      { id: text("The backend's own id for it; may be the temporary one.", '17') },
      { title: 'Created', description: 'The object was created.' },
    ),
    refusals: UPLOAD_REFUSALS,
  },
  update: {
    summary: 'Change attributes of an object',
    description: AT_LEAST_ONCE,
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        group: Group,
        op_id: OpId,
        id: ObjectId,
        attributes: attributes('The changed attributes.', { price: 10 }),
        files: Files,
        removed: Type.Optional(texts('The attributes to remove from the object. Absent: none.', ['note'])),
        seen: Seen,
      },
      { ...closed, title: 'UpdateRequest', description: 'An object to change.' },
    ),
    answer: Done,
    refusals: UPLOAD_REFUSALS,
  },
  delete: {
    summary: 'Delete an object',
    description: AT_LEAST_ONCE,
    request: Type.Object(
      { source: Source, user_id: ActingUser, group: Group, op_id: OpId, id: ObjectId, seen: Seen },
      { ...closed, title: 'DeleteRequest', description: 'An object to delete.' },
    ),
    answer: Done,
    refusals: UPLOAD_REFUSALS,
  },
  search: {
    summary: 'Return the objects that a device searches for',
    description: 'They are passed on and not stored.',
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        group: Group,
        params: Type.Unknown({
          description: 'The parameters of the search, as the device sent them.',
          examples: [{ q: 'pump' }],
        }),
      },
      { ...closed, title: 'SearchRequest', description: 'A search.' },
    ),
    answer: Objects,
    refusals: {
      '404': 'The backend cannot search.',
      '405': 'The backend cannot search.',
      '501': 'The backend cannot search.',
      '4XX': 'The search is refused; the device receives `detail`.',
    },
  },
} as const satisfies Record<string, BackendCallContract>;

export type BackendCall = keyof typeof BACKEND_CALLS;
