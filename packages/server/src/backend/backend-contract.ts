import { type TSchema, Type } from 'typebox';

/** What is said between this server and a backend, call by call: the only place that knows it. */

const closed = { additionalProperties: false } as const;
const UserId = Type.Union([Type.String(), Type.Null()], {
  description: 'Whose data it is; null when the source is shared by all users.',
});
const ActingUser = Type.String({ description: 'Who asks, whether the source is shared or not.' });
const Source = Type.String({ description: 'The name of the source.' });
const OpId = Type.String({
  description: 'Names the change, and is the same at every repetition: a change that was done is not done again.',
});
const Attributes = Type.Record(Type.String(), Type.Unknown());
const Objects = Type.Record(Type.String(), Attributes, { description: 'A hash of hashes: object id → attributes.' });
const Done = Type.Object({}, { description: 'Nothing in it is looked at.' });

export interface BackendCallContract {
  readonly summary: string;
  readonly request: TSchema;
  readonly answer: TSchema;
  /** What answers other than 2xx mean. */
  readonly refusals: Readonly<Record<string, string>>;
}

const UPLOAD_REFUSALS = {
  '409': 'A conflict: the object is not what the change was made on. Told to the device, not repeated.',
  '4XX': 'The change is refused. `detail` is told to the device; the change is not repeated.',
};

export const BACKEND_CALLS = {
  authenticate: {
    summary: 'Whether somebody is who they say. Called when a device logs in.',
    request: Type.Object({ login: Type.String(), password: Type.String() }, closed),
    answer: Type.Object({
      user_id: Type.Optional(
        Type.Union([Type.String(), Type.Null()], { description: 'The user, when it is not the login.' }),
      ),
    }),
    refusals: { '401': 'Login or password is wrong.', '403': 'The user may not log in.' },
  },
  query: {
    summary: 'All objects of a source, or of a source and user.',
    request: Type.Object(
      { source: Source, user_id: UserId, partition: Type.Union([Type.Literal('app'), Type.Literal('user')]) },
      closed,
    ),
    answer: Objects,
    refusals: { '4XX': 'The query is refused. Nothing changes; it is asked again later.' },
  },
  create: {
    summary: 'Make an object that a device has made.',
    request: Type.Object(
      {
        source: Source,
        user_id: ActingUser,
        op_id: OpId,
        id: Type.String({ description: "The device's temporary id." }),
        attributes: Attributes,
      },
      closed,
    ),
    answer: Type.Object({ id: Type.String({ description: "The backend's own id for it; may be the temporary one." }) }),
    refusals: UPLOAD_REFUSALS,
  },
  update: {
    summary: 'Change attributes of an object.',
    request: Type.Object(
      { source: Source, user_id: ActingUser, op_id: OpId, id: Type.String(), attributes: Attributes },
      closed,
    ),
    answer: Done,
    refusals: UPLOAD_REFUSALS,
  },
  delete: {
    summary: 'Delete an object.',
    request: Type.Object({ source: Source, user_id: ActingUser, op_id: OpId, id: Type.String() }, closed),
    answer: Done,
    refusals: UPLOAD_REFUSALS,
  },
  search: {
    summary: 'Objects that a device looks for. They are passed on and not kept.',
    request: Type.Object({ source: Source, user_id: ActingUser, params: Type.Unknown() }, closed),
    answer: Objects,
    refusals: { '4XX': 'The search is refused; `detail` is told to the device.' },
  },
} as const satisfies Record<string, BackendCallContract>;

export type BackendCall = keyof typeof BACKEND_CALLS;
