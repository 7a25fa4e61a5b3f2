import type { Upload } from '@tidemark/protocol';
import { PUSH_UNITS_MAX } from '../limits.ts';
import type { Reader } from '../state/local-state.ts';
import type { UploadRow } from '../state/rows.ts';

/** The uploads that come next, in their order, as many as one push may carry. */
export function nextChunk(reader: Reader, uploadsMax: number): readonly Upload[] {
  const chunk: Upload[] = [];
  let units = 0;
  for (const [opId, row] of reader.entries('uploads', '')) {
    if (row.state !== 'waiting') continue;
    const upload = uploadOf(opId, row);
    units += JSON.stringify(upload).length;
    if (chunk.length > 0 && units > PUSH_UNITS_MAX) break;
    chunk.push(upload);
    if (chunk.length === uploadsMax) break;
  }
  return chunk;
}

/**
 * The token of a device that held nothing when the change was made. No server can read it, which is what it should
 * understand: whatever others did to the object, this device did not know.
 */
const SEEN_NOTHING = 'nothing';

function uploadOf(opId: string, { source, op, id, attributes, seen }: UploadRow): Upload {
  const what = { op_id: opId, source, op, id };
  if (op === 'create') return { ...what, attributes: attributes ?? {} };
  return { ...what, ...(attributes === null ? {} : { attributes }), seen: seen ?? SEEN_NOTHING };
}
