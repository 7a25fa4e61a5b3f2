import type { Reply } from './wire.ts';

// Scripts answer what their headers say; anything else is a bug on one side or the other.

export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (!Array.isArray(reply)) throw new Error('a script answered something that is no list');
  return reply;
}

export function bytesOf(reply: Reply | undefined): Buffer {
  if (!Buffer.isBuffer(reply)) throw new Error('a script answered something that is no text');
  return reply;
}

export function textOf(reply: Reply | undefined): string {
  return bytesOf(reply).toString('utf8');
}

export function numberOf(reply: Reply | undefined): number {
  return typeof reply === 'number' ? reply : Number(textOf(reply));
}

/** Numbers joined by commas. */
export function numbersOf(reply: Reply | undefined): readonly number[] {
  const text = bytesOf(reply).toString('latin1');
  return text === '' ? [] : text.split(',').map(Number);
}

/** Texts of the given lengths, one after the other; of each, the first `skip` bytes are left out. */
export function textsIn(bytes: Buffer, lengths: readonly number[], skip = 0): string[] {
  const texts: string[] = [];
  let at = 0;
  for (const length of lengths) {
    texts.push(bytes.toString('utf8', at + skip, at + length));
    at += length;
  }
  return texts;
}
