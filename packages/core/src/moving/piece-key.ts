import type { Piece } from '../ports/moving.ts';
import { partitionParts } from '../ports/owner.ts';
import { scopeParts } from '../ports/store/documents.ts';

export type KeyPart = string | number;

/** Sections in the order of an export. The data of a partition follows it, and parts follow their document. */
const SECTIONS = { entries: 1, partitions: 2, notes: 3, documents: 4, stats: 5, jobs: 6 } as const;
const FIRST = 0;
const JOURNAL = 1;
const TIDEMARKS = 2;

/** Returns the key of a piece. Exports are ordered by section, then by the parts of the key in UTF-8 order. */
export function pieceKey(piece: Piece): readonly KeyPart[] {
  switch (piece.what) {
    case 'entry':
      return [SECTIONS.entries, ...piece.key];
    case 'partition':
      return [SECTIONS.partitions, ...partitionParts(piece.partition), FIRST];
    case 'record':
    case 'tombstone':
      return [SECTIONS.partitions, ...partitionParts(piece.partition), JOURNAL, piece.seq];
    case 'tidemark':
      return [SECTIONS.partitions, ...partitionParts(piece.partition), TIDEMARKS, piece.mark.client];
    case 'note':
      return [SECTIONS.notes, ...partitionParts(piece.partition), piece.client, piece.note.kind, piece.note.key];
    case 'document':
      return [SECTIONS.documents, ...scopeParts(piece.key.scope), piece.key.name];
    case 'part':
      return [SECTIONS.documents, ...scopeParts(piece.key.scope), piece.key.name, piece.part];
    case 'stat':
      return [SECTIONS.stats, piece.row.metric, piece.row.atS];
    case 'queue':
      return [SECTIONS.jobs, piece.queue];
    case 'job':
      return [SECTIONS.jobs, piece.queue, piece.position];
  }
}

/** Compares two keys. A key comes before longer keys that begin with it. */
export function compareKeys(left: readonly KeyPart[], right: readonly KeyPart[]): number {
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareParts(left: KeyPart, right: KeyPart): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return compareTexts(String(left), String(right));
}

/** Compares by code points, the order of UTF-8 bytes. UTF-16 order would put surrogates before U+E000. */
function compareTexts(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    const order = rankOf(left.charCodeAt(index)) - rankOf(right.charCodeAt(index));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

const SURROGATES_BEGIN = 0xd800;
const SURROGATES_END = 0xe000;

function rankOf(unit: number): number {
  if (unit < SURROGATES_BEGIN) return unit;
  return unit < SURROGATES_END ? unit + 0x10000 : unit;
}
