import { attributes, closed, nullableText, objects, text } from '@tidemark/protocol/annotated';
import { PartitionType } from '@tidemark/protocol/schemas';
import { type TSchema, Type } from 'typebox';

/** Describes the calls from this server to a backend. No other file knows their paths and bodies. */

const ActingUser = text('Who asks, whether the source is shared or not.', 'anna');
const Source = text('The name of the source.', 'Product');
const OpId = text(
  'Names the change, and is the same at every repetition: a change that was done is not done again.',
  'f47ac10b58cc4372a5670e02b2c3d479',
);
const ObjectId = text("The backend's id of the object.", '17');
const Objects = objects('A hash of hashes: object id → attributes.');
const Done = Type.Object({}, { title: 'Done', description: 'Nothing in it is looked at.' });

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
  '409': 'A conflict: the object is not what the change was made on. Told to the device, not repeated.',
  '4XX': 'The change is refused. `detail` is told to the device; the change is not repeated.',
};
const AT_LEAST_ONCE =
  'Called at least once for each change: remember `op_id` with your answer, and give the same answer to a repetition.';

export const BACKEND_CALLS = {
  authenticate: {
    summary: 'Check login and password',
    description: 'Called when a device logs in.',
    request: Type.Object(
      {
        login: text('What was typed as login.', 'anna'),
        password: text('What was typed as password.', 'correct horse battery'),
      },
      { ...closed, title: 'AuthenticateRequest', description: 'A login on a device.' },
    ),
    answer: Type.Object(
      {
        user_id: Type.Optional(nullableText('The id of the user; absent or null: it is the login.', 'anna')),
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
    summary: 'Give all objects of a source, or of a source and user',
    description: 'The answer replaces the data: what is missing in it is deleted.',
    request: Type.Object(
      {
        source: Source,
        user_id: nullableText('Whose data it is; null when the source is shared by all users.', 'anna'),
        partition: PartitionType,
      },
      { ...closed, title: 'QueryRequest', description: 'What to query.' },
    ),
    answer: Objects,
    refusals: { '4XX': 'The query is refused. Nothing changes; it is asked again later.' },
  },
  create: {
    summary: 'Make an object that a device has made',
    description: AT_LEAST_ONCE,
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        op_id: OpId,
        id: text("The device's temporary id.", 'tmp-1'),
        attributes: attributes('All attributes of the object.', { name: 'Pump', price: 9.5 }),
      },
      { ...closed, title: 'CreateRequest', description: 'An object to make.' },
    ),
    answer: Type.Object(
      { id: text("The backend's own id for it; may be the temporary one.", '17') },
      { title: 'Created', description: 'The object was made.' },
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
        op_id: OpId,
        id: ObjectId,
        attributes: attributes('The changed attributes.', { price: 10 }),
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
      { source: Source, user_id: ActingUser, op_id: OpId, id: ObjectId },
      { ...closed, title: 'DeleteRequest', description: 'An object to delete.' },
    ),
    answer: Done,
    refusals: UPLOAD_REFUSALS,
  },
  search: {
    summary: 'Give the objects that a device looks for',
    description: 'They are passed on and not kept.',
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        params: Type.Unknown({ description: 'What to look for, as the device says it.', examples: [{ q: 'pump' }] }),
      },
      { ...closed, title: 'SearchRequest', description: 'What to look for.' },
    ),
    answer: Objects,
    refusals: {
      '404': 'The backend cannot search.',
      '405': 'The backend cannot search.',
      '501': 'The backend cannot search.',
      '4XX': 'The search is refused; `detail` is told to the device.',
    },
  },
} as const satisfies Record<string, BackendCallContract>;

export type BackendCall = keyof typeof BACKEND_CALLS;
