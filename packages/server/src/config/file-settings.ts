import { type Static, Type } from '@tidemark/protocol/typebox';
import { integer, optionalText } from './kinds.ts';

const GIB = 1_073_741_824;
const HOURS_MAX = 8_760;

/** Settings of the files that objects refer to. */
export const FileSettings = Type.Object(
  {
    folder: optionalText({
      description:
        'The folder that holds the bytes of files; when it is not set, `files` in the data folder. Servers on several machines need one that they share.',
      rule: 'must be the path of a folder',
      path: true,
    }),
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
    grace_h: integer(1, HOURS_MAX, 24, 'How long a file that no object refers to is kept, in hours.'),
  },
  { additionalProperties: false },
);

/** The settings of files as the code uses them. */
export interface FileConfig {
  /** An absolute path; null: `files` in the data folder. */
  readonly folder: string | null;
  readonly sizeMax: number;
  readonly quotaBytes: number;
  readonly uploadExpiresMs: number;
  readonly graceMs: number;
}

const HOUR_MS = 3_600_000;

export function fileConfigOf(settings: Static<typeof FileSettings>): FileConfig {
  return {
    folder: settings.folder,
    sizeMax: settings.size_max,
    quotaBytes: settings.quota_bytes,
    uploadExpiresMs: settings.upload_expires_h * HOUR_MS,
    graceMs: settings.grace_h * HOUR_MS,
  };
}
