import type { Upload } from '@tidemark/protocol';
import { PUSH_UNITS_MAX } from '../limits.ts';
import type { Reader } from '../state/local-state.ts';
import { byOrder, type UploadRow } from '../state/rows.ts';

/** Returns the next uploads in order, as many as fit into one push. */
export function nextChunk(reader: Reader, uploadsMax: number): readonly Upload[] {
  const waiting = [...reader.entries('uploads', '')].filter(([, { state }]) => state === 'waiting');
  waiting.sort(([, left], [, right]) => byOrder(left, right));
  const chunk: Upload[] = [];
  let units = 0;
  for (const [opId, row] of waiting) {
    const upload = uploadOf(opId, row, hasSchema(reader, row.source));
    units += JSON.stringify(upload).length;
    if (chunk.length > 0 && units > PUSH_UNITS_MAX) break;
    chunk.push(upload);
    if (chunk.length === uploadsMax) break;
  }
  return chunk;
}

/**
 * The token of a device that held no data when the change was made. No server can read it, so the server knows that
 * the device had seen no version of the object.
 */
const SEEN_NOTHING = 'nothing';

/** True if a waiting upload says a version, and the device has not heard that the source has a schema. The list of sources tells. */
export function awaitsSchema(reader: Reader): boolean {
  for (const [, { state, version, source }] of reader.entries('uploads', '')) {
    if (state === 'waiting' && version !== undefined && !hasSchema(reader, source)) return true;
  }
  return false;
}

/** The server refuses members that it does not know. */
function hasSchema(reader: Reader, source: string): boolean {
  return reader.get('sources', ['', source])?.description.schema !== undefined;
}

function uploadOf(opId: string, row: UploadRow, isVersioned: boolean): Upload {
  const { source, group, op, id, attributes, removed, version, seen } = row;
  const whose = { source, ...(group === undefined ? {} : { group }) };
  const what = { op_id: opId, ...whose, op, id, ...(isVersioned && version !== undefined ? { version } : {}) };
  if (op === 'create') return { ...what, attributes: attributes ?? {} };
  return {
    ...what,
    ...(attributes === null ? {} : { attributes }),
    ...(removed === undefined ? {} : { removed: [...removed] }),
    seen: seen ?? SEEN_NOTHING,
  };
}
