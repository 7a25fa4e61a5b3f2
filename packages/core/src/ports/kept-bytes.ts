/** What a tombstone or a note takes besides its own texts: keys and indexes of the engine, about. */
export const KEPT_OVERHEAD_BYTES = 100;

/** The bytes with which the quota counts a tombstone, which has an id only, or a note of an upload: its key and its text. */
export function keptBytes(name: string, text = ''): number {
  return Buffer.byteLength(name) + Buffer.byteLength(text) + KEPT_OVERHEAD_BYTES;
}
