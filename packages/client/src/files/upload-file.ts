import { clientError } from '../client-error.ts';
import type { FileRow } from '../state/file-rows.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import type { BytesAnswer } from '../transport/wire.ts';
import type { SendSize } from './send-size.ts';

const TUS = { 'tus-resumable': '1.0.0' } as const;

interface FileUpload {
  readonly caller: Pick<SessionCaller, 'exchange'>;
  readonly sha256: string;
  readonly row: FileRow;
  /** Returns bytes of the file from a position on, as many as are stored together. */
  readonly read: (at: number) => Promise<Uint8Array<ArrayBuffer>>;
  readonly size: SendSize;
  /** Called with the number of bytes that the server has. */
  readonly onOffset: (offset: number) => void;
  readonly signal: AbortSignal;
}

/** Sends what the server does not have of a file, by tus 1.0: it says where to go on. Resolves when the server has stored the file. */
export async function uploadFile(upload: FileUpload): Promise<void> {
  const { row, read, size, onOffset } = upload;
  let offset = await begin(upload);
  let held = { from: offset, bytes: new Uint8Array() };
  onOffset(offset);
  while (offset < row.size) {
    if (offset >= held.from + held.bytes.length) held = { from: offset, bytes: await read(offset) };
    const bytes = held.bytes.subarray(offset - held.from).subarray(0, size.bytes);
    const reached = await append(upload, offset, bytes);
    if (reached <= offset) throw clientError('bad_answer', 'the server has taken no bytes of the file');
    size.notePassed(reached - offset);
    offset = reached;
    onOffset(offset);
  }
}

async function begin({ caller, sha256, row, signal }: FileUpload): Promise<number> {
  const headers = { ...TUS, 'upload-length': String(row.size), 'upload-metadata': `sha256 ${btoa(sha256)}` };
  return offsetOf(await caller.exchange({ method: 'POST', path: '/files', headers, signal }), row);
}

async function append(
  { caller, sha256, row, signal }: FileUpload,
  offset: number,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<number> {
  const headers = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
  const path = `/files/uploads/${sha256}`;
  return offsetOf(await caller.exchange({ method: 'PATCH', path, headers, bytes, signal }), row);
}

function offsetOf({ headers }: BytesAnswer, { size }: FileRow): number {
  const text = headers.get('upload-offset') ?? '';
  const offset = Number(text);
  if (/^\d{1,15}$/.test(text) && offset <= size) return offset;
  throw clientError('bad_answer', 'the answer does not say how much of the file has arrived');
}
