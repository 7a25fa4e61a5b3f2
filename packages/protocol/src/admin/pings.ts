import { closed, count, flag, moment, nullableText, text, texts } from '../annotated.ts';
import { PUSH_SERVICES } from '../device-types.ts';
import { type Static, Type } from '../typebox.ts';
import { CLIENT_ID, PING_ID } from './examples.ts';

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
