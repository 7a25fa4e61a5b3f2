import type { Piece } from '../ports/moving.ts';

/** What must be the same on both sides, by name. The key says which piece it is. */
export function pieceContent(piece: Piece): Readonly<Record<string, unknown>> {
  switch (piece.what) {
    case 'entry':
      return { value: piece.value, version: piece.version };
    case 'partition': {
      const { epoch, head, floor, size, checksum, earlier = [] } = piece.state;
      return { epoch, head, floor, size, checksum, earlier: earlier.map((one) => [one.epoch, one.upTo]) };
    }
    case 'record':
      return { object: piece.id, record: piece.record, checksum: piece.checksum };
    case 'grave':
      return { tombstone: piece.id };
    case 'tidemark': {
      const { epoch, seq, base, start, seenAtMs } = piece.mark;
      return { epoch, seq, base, start, seenAtMs };
    }
    case 'note':
      return { text: piece.note.text, endsAtMs: piece.endsAtMs };
    case 'document':
      return { type: piece.type, version: piece.version, parts: piece.partCount, units: piece.units };
    case 'part':
      return { text: piece.text };
    case 'stat':
      return { count: piece.row.count, sum: piece.row.sum, min: piece.row.min, max: piece.row.max };
    case 'queue':
      return { isPaused: piece.isPaused };
    case 'job':
      return jobContent(piece.job);
  }
}

function jobContent(job: Extract<Piece, { readonly what: 'job' }>['job']): Readonly<Record<string, unknown>> {
  const { kind, payload, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason, standing, atMs } = job;
  return { kind, payload, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason, standing, atMs };
}
