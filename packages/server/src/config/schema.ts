import { isAbsolute } from 'node:path';
import {
  DEFAULT_LIMITS,
  INTERVAL_S_MAX,
  type Limits,
  nameProblem,
  PASSWORD_BYTES_MAX,
  parseJson,
  utf8Bytes,
} from '@tidemark/protocol';
import { type Static, type TObject, type TSchema, Type } from '@tidemark/protocol/typebox';
import { BACKUPS_MAX } from '../limits.ts';
import { AdminSignInSettings } from './admin-sign-in-settings.ts';
import { ConnectorSettings } from './connector-settings.ts';
import { FileSettings } from './file-settings.ts';
import { IssuerSettings } from './issuer-settings.ts';
import { integer, isPlainUrl, oneOf, optionalText, TEXT_RULE, text, URL_RULE, yesOrNo } from './kinds.ts';
import { PingSettings } from './ping-settings.ts';
import { QueueSettings } from './queue-settings.ts';
import { parseSchedule } from './schedule.ts';
import { SourceSettings } from './source-settings.ts';

const PORT_MAX = 65_535;
const WEEK_H = 168;
const DAY_S = 86_400;
/** The longest JavaScript string has a little over 536 million units. */
const TEXT_MAX = 500_000_000;
const BODY_BYTES_MIN = 1_024;
const GRACE_MS_MAX = 600_000;
const CALL_MS_MAX = 600_000;
const DELAY_MS_MAX = 600_000;
const RATE_WINDOW_S_MAX = 3_600;
const RATE_REQUESTS_MAX = 1_000_000_000;
const RETENTION_DAYS_MAX = 3_650;
const STREAMS_MAX = 1_000_000;
const HEARTBEAT_S_MAX = 3_600;
/** Devices without news are recorded as seen once a minute. */
const ACTIVE_WINDOW_S_MIN = 120;
const REPLICAS_MAX = 100;
const WORKERS_MAX = 64;
const SLOW_MS_MAX = 3_600_000;

/** Origins are compared exactly with what browsers send, so they must be written in the same form. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) ? isPlainUrl(text) && new URL(text).origin === text : APP_ORIGIN.test(text);
}

/** Origins of web views in apps, such as `capacitor://localhost`. */
const APP_ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+$/;

const ORIGINS_MAX = 1_000;

/** The file has a list; variables and flags have it as JSON or separated by commas. */
function originsSetting() {
  const about = {
    description: 'The web pages whose scripts may call the routes of devices.',
    rule: 'must be origins such as https://app.example, as a JSON list or separated by commas, without a slash at the end',
    default: null,
  };
  const list = Type.Array(Type.Refine(Type.String(), isOrigin), { maxItems: ORIGINS_MAX });
  const separated = text(about, (value) =>
    originsIn(value).every((origin) => typeof origin === 'string' && isOrigin(origin)),
  );
  return Type.Union([list, separated, Type.Null()], about);
}

/** Reads a list of origins; a text that is no JSON list is separated by commas. */
export function originsIn(value: string | readonly string[]): readonly string[] {
  if (typeof value !== 'string') return value;
  if (!value.startsWith('[')) return value.split(',').map((origin) => origin.trim());
  try {
    return parseJson(value) as readonly string[];
  } catch {
    return [value];
  }
}

const STORE_RULE =
  'must be embedded, or like valkey://host:6379, valkeys:// for TLS, valkey+cluster://host,host or valkey+sentinel://host,host/name, without login and password';
const STORE_ADDRESS = /^(?:valkeys?|rediss?)(?:\+cluster|\+sentinel)?:\/\/[^/?#@\s]+(?:\/[^/?#@\s]*)?$/;

/** A rough check: the engine parses the address exactly. */
function isStore(value: string): boolean {
  return value === 'embedded' || STORE_ADDRESS.test(value);
}

const LIMIT_SETTINGS: Readonly<Record<keyof Limits, readonly [max: number, description: string]>> = {
  objectsPerWriteMax: [10_000_000, 'Objects in one write.'],
  attributesPerObjectMax: [10_000_000, 'Attributes of one object, as given in one write.'],
  valueDepthMax: [1_000, 'Nesting of one value.'],
  writeUnitsMax: [TEXT_MAX, 'Names, ids and values of one write together, in UTF-16 units of JSON text.'],
  documentUnitsMax: [TEXT_MAX, 'A named document after the write, in UTF-16 units.'],
  pageObjectsMax: [1_000_000, 'Objects in one page of a pull.'],
  lineObjectsMax: [1_000_000, 'Objects on one line of a snapshot; its text is bounded like that of a page.'],
  pageUnitsMax: [TEXT_MAX, 'Text in one page of a pull, in UTF-16 units.'],
  pageCacheUnitsMax: [TEXT_MAX, 'Text of shared pages kept for devices that ask the same, in UTF-16 units.'],
  userAttributesMax: [1_000_000, 'Attributes of one user.'],
  userAttributesUnitsMax: [TEXT_MAX, 'All attributes of one user, in UTF-16 units of JSON text.'],
  pingsPerMinuteMax: [1_000_000, 'Pings one caller may send in a minute.'],
  userBytesMax: [
    Number.MAX_SAFE_INTEGER,
    'Bytes of the objects of one user in one source, as they are kept, with deletions and uploads.',
  ],
  sharedBytesMax: [
    Number.MAX_SAFE_INTEGER,
    'Bytes of objects that many users share: those of an `app` source, or of a group.',
  ],
  answerObjectsMax: [10_000_000, 'Objects in the answer to a query.'],
  answerUnitsMax: [TEXT_MAX, 'The answer to a query, in UTF-16 units of JSON text.'],
};

/** `objectsPerWriteMax` → `objects_per_write_max`: the wire and the file use snake_case. */
export function limitName(limit: string): string {
  return limit.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function limitSettings(): TObject<Record<string, TSchema>> {
  const limits = Object.keys(LIMIT_SETTINGS) as (keyof Limits)[];
  return Type.Object(
    Object.fromEntries(
      limits.map((limit) => {
        const [max, description] = LIMIT_SETTINGS[limit];
        return [limitName(limit), integer(1, max, DEFAULT_LIMITS[limit], description)];
      }),
    ),
    { additionalProperties: false },
  );
}

/** All settings. */
export const ConfigSchema = Type.Object(
  {
    host: text({
      description:
        'The address to listen on. Other machines reach the server only when this is not a loopback address.',
      default: '127.0.0.1',
      rule: 'must be an address or a host name',
    }),
    port: integer(0, PORT_MAX, 9292, 'The port to listen on; 0 picks a free one, which the ready line names.'),
    listen_backlog: integer(
      1,
      PORT_MAX,
      4_096,
      'Connections that the system holds until the server accepts them. Thousands of devices that come back at once need that many; the system allows no more than `net.core.somaxconn`.',
    ),
    workers: integer(
      1,
      WORKERS_MAX,
      1,
      'Processes that serve together on that port, of which each can use one core of the machine.',
    ),
    data: text({
      description: 'The folder that holds all data. It is made when it does not exist.',
      default: './data',
      rule: 'must be the path of a folder',
      path: true,
    }),
    backup_folder: optionalText({
      description:
        'The folder for backups that are made over the API and in the console; when it is not set, `backups` in the data folder. A folder on another disk survives the loss of this one.',
      rule: TEXT_RULE,
      path: true,
    }),
    backup: Type.Object(
      {
        schedule: optionalText(
          {
            description:
              'When the server makes a backup by itself, in UTC: `hourly`, `daily 03:00` or `weekly sunday 03:00`; when it is not set, never.',
            rule: 'must be hourly, daily HH:MM, or weekly with a day and HH:MM',
          },
          (value) => parseSchedule(value) !== null,
        ),
        keep: integer(1, BACKUPS_MAX, 14, 'How many backups stay after a scheduled one; the oldest are deleted.'),
        command: optionalText(
          {
            description:
              'A program that is run after each scheduled backup, with the folder of the backup as its argument, for example to copy it to another place. It is not run by a shell. A failure is shown as a failure of the backup.',
            rule: 'must be the absolute path of a program',
          },
          isAbsolute,
        ),
      },
      { additionalProperties: false },
    ),
    store: text(
      {
        description: 'Where the data is kept: `embedded` in the data folder, or the address of Valkey or Redis.',
        default: 'embedded',
        rule: STORE_RULE,
      },
      isStore,
    ),
    require_durable: yesOrNo(
      false,
      'Whether the server refuses to start on a store that could lose writes it has acknowledged.',
    ),
    valkey: Type.Object(
      {
        login: optionalText({
          description: 'The user to log in as, where the server of the store asks for one.',
          rule: TEXT_RULE,
        }),
        password: optionalText({
          description: 'The password for that server.',
          rule: TEXT_RULE,
          secret: true,
        }),
        sentinel_login: optionalText({
          description: 'The user to log in as at the sentinels, where they have users of their own.',
          rule: TEXT_RULE,
        }),
        sentinel_password: optionalText({
          description: 'The password for the sentinels, where they ask for one.',
          rule: TEXT_RULE,
          secret: true,
        }),
        prefix: text(
          {
            description: 'Begins every key, so that several installations may share one server.',
            default: 'tidemark:',
            rule: 'must have 1 to 100 letters, digits, and any of . _ : -',
          },
          (prefix) => /^[\w.:-]{1,100}$/.test(prefix),
        ),
        answer_ms_max: integer(
          100,
          60_000,
          1_500,
          'How long a command may wait for its answer, in milliseconds; large ones get more. Then the caller gets `store_unavailable`. Raise it for a server with a slow disk.',
        ),
        confirm_replicas: integer(0, REPLICAS_MAX, 0, 'Replicas that must have a write before it is acknowledged.'),
        confirm_on_disk: yesOrNo(
          false,
          'Whether a write must be on the disk, of those replicas as well, before it is acknowledged. Needs Valkey 8 or Redis 7.2.',
        ),
      },
      { additionalProperties: false },
    ),
    admin_login: text(
      {
        description: 'The login of the administrator that the first start makes.',
        default: 'admin',
        rule: 'must be a name of 1 to 255 bytes without control characters',
      },
      (login) => nameProblem('login', login) === null,
    ),
    admin_password: optionalText(
      {
        description:
          "That administrator's password. When it is not set, the first start makes one and prints it once. Later starts leave the stored one alone, and say when this is another one.",
        rule: `must have 1 to ${PASSWORD_BYTES_MAX} bytes`,
        secret: true,
      },
      (password) => utf8Bytes(password) <= PASSWORD_BYTES_MAX,
    ),
    log_level: oneOf(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'The least level that is logged.'),
    log_format: oneOf(
      ['auto', 'json', 'pretty'],
      'auto',
      'Lines of JSON, or lines for people; `auto` is for people on a terminal and JSON elsewhere.',
    ),
    log: Type.Object(
      {
        requests: yesOrNo(
          false,
          'Whether every request is logged; otherwise only those answered with a status of 500 or above, and slow ones.',
        ),
        slow_request_ms: integer(
          1,
          SLOW_MS_MAX,
          1_000,
          'A request that takes longer is logged as slow, in milliseconds.',
        ),
      },
      { additionalProperties: false },
    ),
    licensee: optionalText({
      description: 'The name that the licence record shows.',
      rule: TEXT_RULE,
    }),
    allow_reset: yesOrNo(true, 'Whether `POST /rc/v1/system/reset` may empty the server.'),
    token_ttl_s: integer(1, INTERVAL_S_MAX, 30 * DAY_S, 'How long a token got by logging in lives, in seconds.'),
    body_bytes_max: integer(BODY_BYTES_MIN, TEXT_MAX, 10_000_000, 'The largest body of a request, in bytes.'),
    public_url: optionalText(
      {
        description: 'The URL under which others reach the server, when a proxy stands in front of it.',
        rule: URL_RULE,
      },
      isPlainUrl,
    ),
    trust_proxy: yesOrNo(
      false,
      'Whether the headers `X-Forwarded-*` are believed. Only for a server that nobody reaches except through a proxy.',
    ),
    metrics_public: yesOrNo(false, 'Whether `/metrics` and the details of `/readyz` are shown without a token.'),
    shutdown_grace_ms: integer(
      0,
      GRACE_MS_MAX,
      10_000,
      'How long requests under way may take to finish when the server stops, in milliseconds.',
    ),
    shutdown_drain_ms: integer(
      0,
      GRACE_MS_MAX,
      0,
      'How long a server that is told to stop still takes requests while `/readyz` answers 503, in milliseconds. Behind a balancer, longer than the interval of its checks.',
    ),
    overload: Type.Object(
      {
        event_loop_delay_ms_max: integer(
          10,
          DELAY_MS_MAX,
          1_000,
          'Mean delay of the event loop above which the server refuses new requests with 503, in milliseconds.',
        ),
        heap_percent_max: integer(
          1,
          100,
          90,
          'Share of the JavaScript heap limit above which the server refuses new requests with 503, in per cent.',
        ),
        rss_bytes_max: integer(
          0,
          Number.MAX_SAFE_INTEGER,
          0,
          'Resident memory above which the server refuses new requests with 503, in bytes; 0 stands for 80 per cent of what the machine or its container has.',
        ),
      },
      { additionalProperties: false },
    ),
    rate_limits: Type.Object(
      {
        window_s: integer(
          1,
          RATE_WINDOW_S_MAX,
          10,
          'The time in which the requests of a rate limit may be made, in seconds.',
        ),
        device_requests: integer(
          0,
          RATE_REQUESTS_MAX,
          0,
          'Requests of one device in that time; 0 stands for any number.',
        ),
        user_requests: integer(
          0,
          RATE_REQUESTS_MAX,
          0,
          'Requests of all devices of one user in that time; 0 stands for any number.',
        ),
        token_requests: integer(
          0,
          RATE_REQUESTS_MAX,
          0,
          'Requests with one token of the REST API in that time; 0 stands for any number.',
        ),
      },
      { additionalProperties: false },
    ),
    ping: PingSettings,
    app: optionalText({
      description: 'The folder of the app, whose `sources` folder holds source modules.',
      rule: 'must be the path of a folder',
      path: true,
    }),
    backend: Type.Object(
      {
        secret: optionalText({
          description:
            'The secret that calls to the backend are signed with. When it is not set, one is made and kept.',
          rule: TEXT_RULE,
          secret: true,
        }),
        timeout_ms: integer(1, CALL_MS_MAX, 10_000, 'How long the backend may take for one call, in milliseconds.'),
        query_timeout_ms: integer(
          1,
          CALL_MS_MAX,
          60_000,
          'How long the backend may take for one query, to the last byte of its answer, in milliseconds.',
        ),
        pull_wait_ms: integer(
          0,
          CALL_MS_MAX,
          2_000,
          'How long a pull or snapshot waits for a query before it delivers what is stored, in milliseconds; the device is told when the rest is there.',
        ),
        offline_login_s: integer(
          0,
          INTERVAL_S_MAX,
          0,
          'How long a login the backend has vouched for is good while the backend cannot be asked, in seconds; 0: not at all.',
        ),
        deny_private: yesOrNo(
          false,
          'Whether a backend or an identity provider at a loopback or private address is refused.',
        ),
      },
      { additionalProperties: false },
    ),
    issuers: IssuerSettings,
    admin_sign_in: AdminSignInSettings,
    queues: QueueSettings,
    stats: Type.Object(
      { retention_s: integer(60, INTERVAL_S_MAX, 30 * DAY_S, 'How long statistics are kept, in seconds.') },
      { additionalProperties: false },
    ),
    activity: Type.Object(
      {
        keep_h: integer(
          0,
          WEEK_H,
          24,
          'How long the activity is kept, in hours: refusals, failures, pings, and a sample of what succeeded; 0: not at all.',
        ),
        events_max: integer(
          1_000,
          1_000_000,
          50_000,
          'How many events of the activity are kept, of all servers together; the oldest are deleted first. An event takes about 300 bytes of the store.',
        ),
      },
      { additionalProperties: false },
    ),
    devices: Type.Object(
      {
        retention_days: integer(
          1,
          RETENTION_DAYS_MAX,
          30,
          'How many days a device may stay away and still get only what it is missing; after that it may have to start over.',
        ),
        token_ttl_s: integer(
          1,
          INTERVAL_S_MAX,
          30 * DAY_S,
          'How long a device stays signed in without renewing its token, in seconds.',
        ),
        origins: originsSetting(),
        streams_max: integer(
          1,
          STREAMS_MAX,
          20_000,
          'Devices that may listen for events at once; each takes a socket of its own.',
        ),
        streams_per_user_max: integer(1, STREAMS_MAX, 5_000, 'Devices of one user that may listen for events at once.'),
        heartbeat_s: integer(
          1,
          HEARTBEAT_S_MAX,
          25,
          'How often a device that listens is told that the server is still there, in seconds; less than any proxy between them is patient.',
        ),
        active_window_s: integer(
          ACTIVE_WINDOW_S_MIN,
          DAY_S,
          600,
          'How long after its last contact a device counts in `tidemark_staleness_seconds`, in seconds.',
        ),
      },
      { additionalProperties: false },
    ),
    files: FileSettings,
    limits: limitSettings(),
    sources: SourceSettings,
    connectors: ConnectorSettings,
  },
  { additionalProperties: false },
);

/** All settings, with the names of the file. */
export type Settings = Static<typeof ConfigSchema>;
