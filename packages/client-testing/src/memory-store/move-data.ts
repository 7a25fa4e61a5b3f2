import { compareKeys, type EntryKind, type Piece, pieceKey, type RecordReader } from '@tidemark/core';
import { documentMapKey } from './documents.ts';
import { stateOf } from './journal.ts';
import { type MemoryData, type MemoryPartition, mapKeyOf, newPartition, partitionOf } from './memory-data.ts';
import { noteKeyOf } from './notes.ts';
import { addStatRow } from './stat-rows.ts';
import { tupleKey } from './tuples.ts';

/** Collects everything at once and sorts it. */
export function exportData(data: MemoryData, reader: RecordReader): Piece[] {
  const pieces = [
    ...[...data.entries.values()].map(
      ({ kind, key, value, version }): Piece => ({ what: 'entry', key: [kind, ...key], value, version }),
    ),
    ...[...data.partitions.values()].flatMap((partition) => partitionPieces(partition, reader)),
    ...[...data.notes.values()].map(notePiece),
    ...documentPieces(data),
    ...[...data.stats.values()].flatMap((steps) => [...steps.values()].map((row): Piece => ({ what: 'stat', row }))),
    ...data.carriedJobs,
  ];
  return pieces.sort((left, right) => compareKeys(pieceKey(left), pieceKey(right)));
}

function partitionPieces(kept: MemoryPartition, reader: RecordReader): Piece[] {
  const { key: partition } = kept;
  return [
    { what: 'partition', partition, state: stateOf(kept) },
    ...[...kept.journal].map(([seq, { id, record }]): Piece => {
      if (record === null) return { what: 'tombstone', partition, seq, id };
      return { what: 'record', partition, seq, ...reader(record), record };
    }),
    ...[...kept.tidemarks.values()].map((mark): Piece => ({ what: 'tidemark', partition, mark })),
  ];
}

function notePiece({ partition, client, kind, key, text, endsAtMs }: MemoryNoteLike): Piece {
  const ends = endsAtMs === Number.POSITIVE_INFINITY ? null : endsAtMs;
  return { what: 'note', partition, client, note: { kind, key, text }, endsAtMs: ends };
}

type MemoryNoteLike = MemoryData['notes'] extends Map<string, infer Note> ? Note : never;

function documentPieces(data: MemoryData): Piece[] {
  return [...data.documents.values()].flatMap(({ scope, name, type, version, parts }): Piece[] => {
    const key = { scope, name };
    const units = [...parts.values()].reduce((sum, text) => sum + text.length, 0);
    return [
      { what: 'document', key, type, version, partCount: parts.size, units },
      ...[...parts].map(([part, text]): Piece => ({ what: 'part', key, part, text })),
    ];
  });
}

export function importPiece(data: MemoryData, piece: Piece): void {
  switch (piece.what) {
    case 'entry': {
      const [kind = '', ...key] = piece.key;
      const { value, version } = piece;
      data.entries.set(tupleKey(kind, ...key), { kind: kind as EntryKind, key, value, version });
      break;
    }
    case 'partition': {
      const { epoch, earlier, ...numbers } = piece.state;
      const partition = { ...newPartition(piece.partition, epoch), ...(earlier === undefined ? {} : { earlier }) };
      data.partitions.set(mapKeyOf(piece.partition), Object.assign(partition, numbers));
      break;
    }
    case 'record':
    case 'tombstone':
      importJournal(partitionOf(data, piece.partition), piece);
      break;
    case 'tidemark':
      partitionOf(data, piece.partition).tidemarks.set(piece.mark.client, piece.mark);
      break;
    case 'note': {
      const { partition, client, note, endsAtMs } = piece;
      const mapKey = noteKeyOf(partition, client, note);
      data.notes.set(mapKey, { ...note, partition, client, endsAtMs: endsAtMs ?? Number.POSITIVE_INFINITY });
      break;
    }
    case 'document': {
      const { key, type, version } = piece;
      data.documents.set(documentMapKey(key), { ...key, type, version, parts: new Map() });
      break;
    }
    case 'part': {
      const document = data.documents.get(documentMapKey(piece.key));
      if (document === undefined) throw new Error('a part came before its document');
      // This import created it, and nobody has read it yet.
      (document.parts as Map<string, string>).set(piece.part, piece.text);
      break;
    }
    case 'stat':
      addStatRow(data.stats, piece.row);
      break;
    default:
      data.carriedJobs.push(piece);
  }
}

function importJournal(
  partition: MemoryPartition,
  piece: Extract<Piece, { readonly what: 'record' | 'tombstone' }>,
): void {
  const { seq, id } = piece;
  const record = piece.what === 'record' ? piece.record : null;
  partition.journal.set(seq, { id, record });
  partition.index.set(id, { seq, live: record !== null, checksum: piece.what === 'record' ? piece.checksum : 0 });
  if (piece.what === 'record' && piece.files !== undefined) partition.files.set(id, piece.files);
}
