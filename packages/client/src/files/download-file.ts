import { clientError } from '../client-error.ts';
import { FILE_PIECE_BYTES } from '../limits.ts';
import type { SessionCaller } from '../transport/session-caller.ts';

interface PieceDownload {
  readonly caller: Pick<SessionCaller, 'exchange'>;
  readonly sha256: string;
  readonly size: number;
  readonly piece: number;
  readonly signal: AbortSignal;
}

/** Fetches a piece of a file. */
export async function fetchPiece({ caller, sha256, size, piece, signal }: PieceDownload) {
  const first = piece * FILE_PIECE_BYTES;
  const end = Math.min(size, first + FILE_PIECE_BYTES);
  const headers = { range: `bytes=${first}-${end - 1}` };
  const { bytes } = await caller.exchange({ method: 'GET', path: `/files/${sha256}`, headers, signal });
  if (bytes.length === end - first) return bytes;
  throw clientError('bad_answer', `the server sent ${bytes.length} bytes of a file instead of ${end - first}`);
}
