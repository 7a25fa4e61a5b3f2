import { ID_BYTES } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';

/** Returns the id for a new object or upload, random enough to be unique. */
export function randomId(platform: Platform): string {
  return Array.from(platform.randomBytes(ID_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
