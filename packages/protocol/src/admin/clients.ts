import { closed, count, flag, moment, nullableCount, nullableMoment, nullableText, text } from '../annotated.ts';
import { DEVICE_TYPES, PUSH_TYPES } from '../device-types.ts';
import { type Static, Type } from '../typebox.ts';
import { CLIENT_ID } from './examples.ts';
import { listPage } from './list-page.ts';

function listed(values: readonly string[]): string {
  return values.map((value) => `\`${value}\``).join(', ');
}

/** How far a device is in one source: the last page it got, its last complete state, and the newest change. */
export const DeviceCursor = Type.Object(
  {
    seq: count('The sequence number up to which the device has been given pages.', 1040),
    base: nullableCount(
      'The sequence number of its last complete catch-up; null: it has not caught up since it started over.',
      1_001,
    ),
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
    unsent_uploads: nullableCount(
      'How many changes made on the device were lost, as the device says; null: it has not confirmed.',
      0,
    ),
  },
  { ...closed, title: 'WipeOrder', description: 'The order to erase a device.' },
);
export type WipeOrder = Static<typeof WipeOrder>;

const Label = nullableText('What administrators call the device; null: nothing.', 'Van 7, tablet of the driver');

/** What a device says about itself for people to read. */
const DeviceTexts = {
  device_name: nullableText('The name that the app or its user gave the device.', 'Till 3'),
  device_platform: nullableText('What the app runs on, such as `web`, `node`, `ios` or `android`.', 'web'),
  device_system: nullableText('The browser or operating system, with its version.', 'Firefox 128 on Linux'),
};

const SchemaVersions = Type.Union([Type.Record(Type.String(), Type.Integer()), Type.Null()], {
  description:
    'The versions of schemas that the app was built with, as it says: source → version. Null: it says nothing.',
  examples: [{ Order: 2 }],
});

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
    ...DeviceTexts,
    schema_versions: SchemaVersions,
    label: Label,
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

/** What people know a device by. */
const deviceNames = {
  client_id: text('The id of the device.', CLIENT_ID),
  user_id: text('The login of its user.', 'anna'),
  label: Label,
  ...DeviceTexts,
  device_app_id: nullableText('The id of the app on the device.', 'org.example.field'),
  device_app_version: nullableText('The version of the app.', '2.4.0'),
};

export const NamedClient = Type.Object(deviceNames, {
  ...closed,
  title: 'NamedClient',
  description: 'A device, by what people know it by.',
});
export type NamedClient = Static<typeof NamedClient>;

/** A device in a list of devices. */
export const ListedClient = Type.Object(
  {
    ...deviceNames,
    schema_versions: SchemaVersions,
    created_at: moment('When the device was registered.'),
    last_contact: moment('When the device last pulled, to the minute; before its first pull, when it signed in first.'),
    online: flag('Whether the device listens for events now, at any server. A device that only polls is never online.'),
    behind: nullableCount(
      'Changes that the device has not acknowledged, in all sources that it follows; of a source that it starts over with, all objects. Null: it has never pulled.',
      2,
    ),
    wipe: Type.Enum(['none', 'ordered', 'confirmed'], { description: 'Whether it was ordered to erase itself.' }),
  },
  { ...closed, title: 'ListedClient', description: 'A device in a list of devices.' },
);
export type ListedClient = Static<typeof ListedClient>;

/** A page of all devices. */
export const ClientList = listPage({
  title: 'ClientList',
  noun: 'devices',
  rows: { clients: Type.Array(ListedClient, { description: 'Devices, by user and id.' }) },
  next: 'anna/c3f1a2b4',
});
export type ClientList = Static<typeof ClientList>;

export const EndedSessions = Type.Object(
  {
    client_id: text('The id of the device.', CLIENT_ID),
    ended: count('How many tokens of the device have ended.', 1),
  },
  { ...closed, title: 'EndedSessions', description: 'The sessions of a device that have ended.' },
);
export type EndedSessions = Static<typeof EndedSessions>;
