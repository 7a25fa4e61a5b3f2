import { closed, count, flag, moment, nullableText, text, texts } from './annotated.ts';
import { OutcomeStatus } from './sync-schemas.ts';
import { type Static, type TSchema, Type } from './typebox.ts';

/** The kinds of events at `GET /rc/v1/activity`. */
export const ACTIVITY_KINDS = ['push', 'pull', 'upload', 'refresh', 'ping', 'login', 'refusal', 'backend'] as const;
export type ActivityKind = (typeof ACTIVITY_KINDS)[number];

const common = {
  at: moment('When it happened.'),
  server: text('The id of the server where it happened; another one after each start.', 'x1Yb7QmZpK2v'),
  request_id: nullableText(
    'The id of the request; null: a job or timer caused it.',
    '5f0c7b1e-2a3d-4c6b-9e8f-0a1b2c3d4e5f',
  ),
  user_id: nullableText('The user it concerns; null: none, or all users.', 'anna'),
  client_id: nullableText('The device it concerns; null: none.', 'c3f1a2b4'),
  source: nullableText('The source it concerns; null: none.', 'Product'),
  data: Type.Optional(
    Type.Unknown({
      description:
        'The objects, as they were given or delivered. Only with `include=data`; null if they are too large for an event.',
      examples: [{ 1: { name: 'Pump' } }],
    }),
  ),
};

function event<K extends ActivityKind, P extends Record<string, TSchema>>(kind: K, description: string, members: P) {
  return Type.Object(
    { kind: Type.Literal(kind, { description }), ...common, ...members },
    { ...closed, title: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}Activity`, description },
  );
}

const code = nullableText('The code of the refusal or failure; null: it succeeded.', null);

const PushActivity = event('push', 'A backend wrote objects.', {
  operation: text('The route.', 'push_objects'),
  changed: count('Objects that the write changed.', 2),
  unchanged: count('Objects that were so already.', 0),
  seq: count('The sequence number of the partition after the write.', 17),
});

const PullActivity = event('pull', 'A device was sent a page with changes.', {
  objects: count('Objects and deletions on the page.', 10),
  bytes: count('The approximate size of the page before compression, in bytes.', 2_048),
  more: flag('Whether more pages follow.'),
  reset: nullableText('Why the device starts over; null: it does not.', 'new_device'),
});

const UploadActivity = event('upload', 'A device uploaded a change, or a queued upload came to its outcome.', {
  op: text('`create`, `update` or `delete`.', 'update'),
  op_id: text('The id of the upload.', '7d1f0c9a'),
  object_id: text('The id of the object.', '17'),
  status: OutcomeStatus,
  code,
});

const RefreshActivity = event('refresh', 'A source was refreshed from its backend.', {
  partition: nullableText('The group whose data it is; null: it belongs to the user, or to everybody.', null),
  duration_ms: count('How long it took, in milliseconds.', 80),
  code,
});

const PingActivity = event('ping', 'A ping was sent to devices, or one device got its result.', {
  ping_id: text('The id of the ping.', '0kz8m1q7vK3pXc9RtYb2Lw5DnHs6JfG'),
  sources: texts('The sources that the ping names.', ['Product']),
  devices: count('The devices the ping goes to; 1 in the event about the result on one device.', 3),
  status: nullableText('The result on the device; null: the ping was accepted and is being delivered.', 'accepted'),
});

const LoginActivity = event('login', 'Somebody logged in, or failed to.', {
  as: Type.Enum(['administrator', 'device'], { description: 'What the login is for.' }),
  code,
});

const RefusalActivity = event('refusal', 'A request was refused.', {
  method: text('The method of the request.', 'POST'),
  route: nullableText('The template of the route; null: an unknown path.', '/app/v1/:source_name/push_objects'),
  status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
  code: text('The code of the refusal.', 'source_not_found'),
});

const BackendActivity = event('backend', 'A call to the backend failed.', {
  call: text('The call: `authenticate`, `query`, `search`, `create`, `update` or `delete`.', 'query'),
  duration_ms: count('How long the call took, in milliseconds.', 120),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The status of the answer; null: there was none.',
    examples: [503],
  }),
  code: text('The code of the failure.', 'backend_error'),
  reason: text('What went wrong, in words.', 'the backend answered 503'),
});

/** One event at `GET /rc/v1/activity`. */
export const ActivityEvent = Type.Union(
  [
    PushActivity,
    PullActivity,
    UploadActivity,
    RefreshActivity,
    PingActivity,
    LoginActivity,
    RefusalActivity,
    BackendActivity,
  ],
  { title: 'ActivityEvent', description: 'Something that happened on one of the servers.' },
);
export type ActivityEvent = Static<typeof ActivityEvent>;

/** The answer of a search in what happened. */
export const ActivityHistoryPage = Type.Object(
  {
    events: Type.Array(ActivityEvent, { description: 'The events that match, newest first.' }),
    next: nullableText('`after` of the next page; null: there is none.', '0kz8m1q7v-x1Yb7QmZpK2v-00000a'),
    complete_from: moment('Events before this moment are gone: they are too old, or there were too many.'),
    left_out: count(
      'Refusals and failures that were not kept, because there were too many in a minute, within the time of this page. What succeeded is a sample on a busy server.',
      0,
    ),
  },
  { ...closed, title: 'ActivityHistoryPage', description: 'What happened on all servers.' },
);
export type ActivityHistoryPage = Static<typeof ActivityHistoryPage>;
