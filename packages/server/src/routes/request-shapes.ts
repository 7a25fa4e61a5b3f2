import { SCOPES } from '@tidemark/core';
import {
  DEVICE_TYPES,
  PING_MESSAGE_UNITS_MAX,
  PING_SOURCES_MAX,
  PING_TEXT_UNITS_MAX,
  PING_USERS_MAX,
  PING_VIBRATE_S_MAX,
  PUSH_TYPES,
} from '@tidemark/protocol';
import { closed, flag, nullableText, text } from '@tidemark/protocol/annotated';
import { SourceAttributes } from '@tidemark/protocol/schemas';
import { type TSchema, Type } from '@tidemark/protocol/typebox';

/**
 * Request bodies for the API description. They do not validate: admission checks the same rules, and its refusals
 * point at the mistake.
 */

export const NewUserAttributes = Type.Object(
  {
    login: text('The login, which is the id of the user and cannot change.', 'anna'),
    password: text('The password, at most 1,024 bytes.', 'correct horse battery'),
  },
  {
    additionalProperties: true,
    description: 'Login and password, and any other attributes of the user.',
    examples: [{ login: 'anna', password: 'correct horse battery', email: 'anna@example.org' }],
  },
);

export const UserChanges = Type.Object(
  { password: Type.Optional(text('The new password. It ends all tokens of the user.', 'correct horse battery')) },
  {
    additionalProperties: true,
    description: 'Attributes to set; the others stay.',
    examples: [{ email: 'anna@example.org' }],
  },
);

const { name, partition_type, adapter, ...settings } = SourceAttributes.properties;
const Settings = Type.Partial(Type.Object(settings)).properties;

export const SourceDeclaration = Type.Object(
  { name, partition_type: Type.Optional(partition_type), adapter: Type.Optional(adapter), ...Settings },
  { ...closed, title: 'SourceDeclaration', description: 'A source to declare. Only the name is required.' },
);

export const SourceChanges = Type.Object(
  { adapter: Type.Optional(adapter), ...Settings },
  {
    ...closed,
    title: 'SourceChanges',
    description: 'Attributes to change. Name and partition type cannot change.',
  },
);

export const PartitionTypeParam = Type.Enum(['app', 'user', 'group'], { description: 'The partition type.' });

export const TokenScopes = Type.Array(Type.Enum([...SCOPES]), {
  minItems: 1,
  description: 'What the token may do.',
  examples: [['push']],
});

function oneOrMany(description: string, example: string, itemsMax: number): TSchema {
  return Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: itemsMax })], {
    description,
    examples: [[example]],
  });
}

export const PingRequest = Type.Object(
  {
    user_id: oneOrMany('The users whose devices get the ping: one login or a list.', 'anna', PING_USERS_MAX),
    sources: Type.Optional(
      oneOrMany('The sources that devices are to sync: one name or a list.', 'Product', PING_SOURCES_MAX),
    ),
    message: Type.Optional(
      Type.String({
        maxLength: PING_MESSAGE_UNITS_MAX,
        description: 'A text to show on the device.',
        examples: ['A new order has arrived'],
      }),
    ),
    badge: Type.Optional(
      Type.Union([Type.Integer(), Type.String({ maxLength: PING_TEXT_UNITS_MAX })], {
        description: 'The badge of the app; its meaning depends on the platform.',
        examples: [3],
      }),
    ),
    sound: Type.Optional(
      Type.String({
        maxLength: PING_TEXT_UNITS_MAX,
        description: 'The name of a sound file to play.',
        examples: ['ping.caf'],
      }),
    ),
    only_behind: Type.Optional(
      flag('True: devices that have acknowledged the newest state of all `sources` are skipped as `up_to_date`.'),
    ),
    vibrate: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: PING_VIBRATE_S_MAX,
        description: 'How many seconds to vibrate.',
        examples: [0.5],
      }),
    ),
    api_token: Type.Optional(text('Accepted and ignored: send the token in a header.', 'ignored')),
  },
  { ...closed, title: 'PingRequest', description: 'A push message for all devices of some users.' },
);

export const DeviceAttributes = Type.Partial(
  Type.Object({
    client_id: text('The id of the device; no other id is accepted.', 'c3f1a2b4'),
    device_type: Type.Union([Type.Enum([...DEVICE_TYPES]), Type.Null()], {
      description: 'How pings reach the device.',
    }),
    device_push_type: Type.Union([Type.Enum([...PUSH_TYPES]), Type.Null()], {
      description: 'The push service, where it does not follow from the type.',
    }),
    device_pin: nullableText('The address of the device at its push service.', 'fcm-token'),
    device_port: Type.Union([Type.Integer({ minimum: 0, maximum: 65_535 }), Type.String(), Type.Null()], {
      description: 'The port that belongs to the address, where the push service uses one.',
      examples: [443],
    }),
    device_app_id: nullableText('The id of the app.', 'org.example.field'),
    device_app_version: nullableText('The version of the app.', '2.4.0'),
    phone_id: nullableText('An id of the hardware, which tells reinstalled apps from other devices.', 'b1f0'),
    device_name: nullableText('The name that the app or its user gave the device.', 'Till 3'),
    device_platform: nullableText('What the app runs on, such as `web`, `node`, `ios` or `android`.', 'web'),
    device_system: nullableText('The browser or operating system, with its version.', 'Firefox 128 on Linux'),
    schema_versions: Type.Union([Type.Record(Type.String(), Type.Integer({ minimum: 1 })), Type.Null()], {
      description: 'The versions of schemas that the app was built with: source → version.',
      examples: [{ Order: 2 }],
    }),
  }),
  { ...closed, title: 'DeviceAttributes', description: 'What a device says about itself. What is absent stays.' },
);
