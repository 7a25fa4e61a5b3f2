import { ID_BYTES } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';

/** The id of an object or upload made here: so many random bits that nobody has to be asked whether it is free. */
export function randomId(platform: Platform): string {
  return Array.from(platform.randomBytes(ID_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
