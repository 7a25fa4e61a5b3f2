import { S3_FILE_BYTES_MAX } from '@tidemark/files';
import { type Static, Type } from '@tidemark/protocol/typebox';
import type { SettingProblem } from './config-problem.ts';
import { integer, isPlainUrl, optionalText, text, URL_RULE } from './kinds.ts';

const GIB = 1_073_741_824;
const HOURS_MAX = 8_760;
/** Less than the day after which an upload is given up, so that the backend is asked for some hours. */
const BACKEND_WAIT_S_MAX = 72_000;
/** What S3 allows. */
const LINK_S_MAX = 604_800;

/** Settings of the files that objects refer to. */
export const FileSettings = Type.Object(
  {
    folder: optionalText({
      description:
        'The folder that holds the bytes of files; when it is not set, `files` in the data folder. Servers on several machines need one that they share.',
      rule: 'must be the path of a folder',
      path: true,
    }),
    s3_bucket: optionalText(
      {
        description:
          'The bucket of S3-compatible storage that holds the bytes of files instead of a folder. Any number of servers can share it.',
        rule: 'must be the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens',
      },
      (value) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value),
    ),
    s3_endpoint: optionalText(
      {
        description:
          'The address of the storage, such as `https://minio.example.org`. When it is not set, that of AWS.',
        rule: URL_RULE,
      },
      isPlainUrl,
    ),
    s3_region: text(
      {
        description:
          'The region that requests to the storage are signed for. Storages without regions take the default.',
        rule: 'must be the name of a region, such as eu-central-1',
        default: 'us-east-1',
      },
      (value) => /^[a-z0-9-]{2,40}$/.test(value),
    ),
    s3_prefix: optionalText(
      {
        description: 'What the keys of all objects begin with, when the bucket holds other things, too.',
        rule: 'must be parts of letters, digits, dots, underscores and hyphens, each with a slash behind it',
      },
      (value) => /^(?:[\w.-]{1,100}\/){1,10}$/.test(value),
    ),
    s3_access_key: optionalText({
      description: 'The id of the access key to the bucket.',
      rule: 'must be the id of an access key',
      secret: true,
    }),
    s3_secret_key: optionalText({
      description: 'The secret of the access key to the bucket.',
      rule: 'must be the secret of an access key',
      secret: true,
    }),
    s3_link_s: integer(
      0,
      LINK_S_MAX,
      0,
      'For so many seconds a link is valid by which a download gets its bytes from the storage itself, with 307. 0: the server passes them on.',
    ),
    size_max: integer(1, Number.MAX_SAFE_INTEGER, GIB, 'The largest file, in bytes.'),
    quota_bytes: integer(
      1,
      Number.MAX_SAFE_INTEGER,
      10 * GIB,
      'Bytes of all stored files that one user has uploaded, whatever refers to them.',
    ),
    upload_expires_h: integer(
      1,
      HOURS_MAX,
      168,
      'How long an unfinished upload is kept after its last bytes, in hours.',
    ),
    backend_wait_s: integer(
      0,
      BACKEND_WAIT_S_MAX,
      3_600,
      'The longest that a call to your backend waits for the files of its object, in seconds. 0: it does not wait.',
    ),
    grace_h: integer(1, HOURS_MAX, 24, 'How long a file that no object refers to is kept, in hours.'),
  },
  { additionalProperties: false },
);

/** The settings of files as the code uses them. */
export interface FileConfig {
  /** An absolute path; null: `files` in the data folder. */
  readonly folder: string | null;
  /** Null: files are kept in a folder. */
  readonly s3: S3Config | null;
  readonly sizeMax: number;
  readonly quotaBytes: number;
  readonly uploadExpiresMs: number;
  readonly graceMs: number;
  readonly backendWaitMs: number;
}

/** The bucket of S3-compatible storage, and how it is reached. */
export interface S3Config {
  readonly bucket: string;
  /** Null: that of AWS. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly prefix: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** How long links to files are valid; 0: there are none. */
  readonly linkS: number;
}

const HOUR_MS = 3_600_000;
const MS_PER_S = 1_000;

export function fileConfigOf(settings: Static<typeof FileSettings>): FileConfig {
  return {
    folder: settings.folder,
    s3: s3ConfigOf(settings),
    sizeMax: settings.size_max,
    quotaBytes: settings.quota_bytes,
    uploadExpiresMs: settings.upload_expires_h * HOUR_MS,
    graceMs: settings.grace_h * HOUR_MS,
    backendWaitMs: settings.backend_wait_s * MS_PER_S,
  };
}

function s3ConfigOf(settings: Static<typeof FileSettings>): S3Config | null {
  const { s3_bucket: bucket, s3_access_key: accessKey, s3_secret_key: secretKey } = settings;
  if (bucket === null || accessKey === null || secretKey === null) return null;
  const { s3_endpoint: endpoint, s3_region: region, s3_prefix: prefix, s3_link_s: linkS } = settings;
  return { bucket, endpoint, region, prefix: prefix ?? '', accessKey, secretKey, linkS };
}

/** Returns problems between settings that are valid by themselves. */
export function fileSettingProblems(settings: Static<typeof FileSettings>): readonly SettingProblem[] {
  const problem = (name: keyof typeof settings, detail: string) => {
    const setting = `files.${name}`;
    return { setting, origin: setting, detail: `${setting} ${detail}` };
  };
  if (settings.s3_bucket === null) {
    const others = ['s3_endpoint', 's3_prefix', 's3_access_key', 's3_secret_key'] as const;
    const given = others.find((name) => settings[name] !== null);
    return given === undefined ? [] : [problem('s3_bucket', `must be set, because files.${given} is`)];
  }
  const needed = (['s3_access_key', 's3_secret_key'] as const).filter((name) => settings[name] === null);
  return [
    ...needed.map((name) => problem(name, 'must be set, because files.s3_bucket is')),
    ...(settings.folder === null
      ? []
      : [problem('folder', 'cannot be set beside files.s3_bucket; files are kept in one place')]),
    ...(settings.size_max <= S3_FILE_BYTES_MAX
      ? []
      : [
          problem(
            'size_max',
            `is at most ${S3_FILE_BYTES_MAX} with files.s3_bucket: S3 copies no larger object at once`,
          ),
        ]),
  ];
}
