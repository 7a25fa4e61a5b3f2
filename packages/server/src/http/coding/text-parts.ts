import { MessageChannel } from 'node:worker_threads';
import type { RenderedPage } from '@tidemark/core';

/** Parts of an answer: strings, and texts that exist as UTF-8. */
export type TextPart = string | Uint8Array;

const shared = new WeakSet<Uint8Array>();

/** Marks bytes as shared between answers: the same array holds the same text as long as it lives. */
export function shareParts(parts: readonly TextPart[]): readonly TextPart[] {
  for (const part of parts) if (typeof part !== 'string') shared.add(part);
  return parts;
}

export function isShared(part: TextPart): boolean {
  return typeof part !== 'string' && shared.has(part);
}

const single = new WeakSet<Uint8Array>();

/** Marks bytes as used by a single answer, which frees them when it has been sent. */
export function ownParts(parts: readonly TextPart[]): readonly TextPart[] {
  for (const part of parts) if (typeof part !== 'string' && part.length >= FREED_BYTES_MIN) single.add(part);
  return parts;
}

/** Marks the bytes of a page as shared between answers, or as used by a single one. */
export function markPage({ body: { parts }, isShared: isForMany }: RenderedPage): void {
  if (isForMany) shareParts(parts);
  else ownParts(parts);
}

/** Smaller memory is left to the garbage collector. Far above the size of the pool that small buffers share. */
const FREED_BYTES_MIN = 65_536;

/** A closed port takes the memory that is transferred to it and drops it at once. */
const { port1: freeing } = new MessageChannel();
freeing.close();

/**
 * Frees the memory of parts that belong to this answer alone (`ownParts`), because waiting for the garbage collector
 * makes first syncs several times as dear (docs/decisions/0055). The parts are empty afterwards. To be called when
 * neither a socket nor a compressor reads them any more.
 */
export function freeParts(parts: readonly TextPart[]): void {
  for (const part of parts) {
    if (typeof part !== 'string' && single.delete(part)) freeing.postMessage(null, [part.buffer as ArrayBuffer]);
  }
}

/** Parts below this size are joined with their neighbours. */
export const SHARED_BYTES_MIN = 4_096;

/** Returns the approximate length. */
export function lengthOf(parts: readonly TextPart[]): number {
  return parts.reduce((length, part) => length + part.length, 0);
}

/** Returns the same text in as few parts as possible, by joining small parts with their neighbours. */
export function joinSmall(parts: readonly TextPart[]): readonly TextPart[] {
  const joined: TextPart[] = [];
  let loose = '';
  for (const part of parts) {
    if (typeof part === 'string' || part.length < SHARED_BYTES_MIN) loose += textOf(part);
    else {
      if (loose !== '') joined.push(loose);
      loose = '';
      joined.push(part);
    }
  }
  if (loose !== '') joined.push(loose);
  return joined;
}

export function textOf(part: TextPart): string {
  return typeof part === 'string' ? part : bytesOf(part).toString();
}

/** What is written at once. A small text stays a string, which is sent together with what precedes it. */
export type Piece = string | Buffer;

export function pieceOf(part: TextPart): Piece {
  return typeof part === 'string' && part.length < SHARED_BYTES_MIN ? part : bytesOf(part);
}

export function bytesOf(part: TextPart): Buffer {
  return typeof part === 'string' ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.length);
}
