import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SettingProblem } from './config-problem.ts';
import type { SettingValue } from './setting-value.ts';
import type { Setting } from './settings.ts';

const SECRET_BYTES_MAX = 65_536;
/** Permissions for all users of the machine. */
const OTHERS_MODE = 0o007;

export interface SecretFile {
  /** The variable that names the file. */
  readonly variable: string;
  readonly path: string;
  readonly folder: string;
}

/** Returns the secret in a file, without the line break at its end. */
export function readSecretFile(
  setting: Setting,
  { variable, path, folder }: SecretFile,
): { readonly given: readonly SettingValue[]; readonly problems: readonly SettingProblem[] } {
  const file = resolve(folder, path);
  const about = { setting: setting.name, origin: variable };
  const content = readSecret(file);
  if (content.problem !== undefined) {
    return { given: [], problems: [{ ...about, detail: `${variable} (${setting.name}): ${path} ${content.problem}` }] };
  }
  const origin = { kind: 'secret_file', name: variable } as const;
  return { given: [{ setting, value: content.text, origin, subject: variable, folder }], problems: [] };
}

/** Returns the text of a file without the line break at its end. Opens the file once, so that the file that was checked is the file that is read. */
export function readSecret(
  file: string,
): { readonly text: string; readonly problem?: never } | { readonly problem: string } {
  try {
    const handle = openSync(file, 'r');
    try {
      const { mode, size } = fstatSync(handle);
      if (isOpenToOthers(mode)) return { problem: `${OPEN_TO_OTHERS}; run chmod o-rwx on it` };
      if (size > SECRET_BYTES_MAX) return { problem: `is larger than ${SECRET_BYTES_MAX} bytes` };
      return { text: readFileSync(handle, 'utf8').replace(/\r?\n$/, '') };
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    return { problem: `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})` };
  }
}

export const OPEN_TO_OTHERS = 'can be read or changed by everybody on this machine';

/** Always false on Windows, whose permissions are not in the mode. */
export function isOpenToOthers(mode: number): boolean {
  return process.platform !== 'win32' && (mode & OTHERS_MODE) !== 0;
}
