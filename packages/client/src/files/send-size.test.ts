import { expect, it } from 'vitest';
import { FILE_PIECE_BYTES, FILE_SEND_BYTES_FIRST, FILE_SEND_BYTES_MIN, FILE_SEND_PARTS } from '../limits.ts';
import { SendSize } from './send-size.ts';

it('[FILES-92] requests grow with what has passed up to a piece, and are small again when a connection has broken', () => {
  const size = new SendSize();
  expect(size.bytes).toBe(FILE_SEND_BYTES_FIRST);
  size.notePassed(FILE_SEND_BYTES_FIRST * FILE_SEND_PARTS);
  expect(size.bytes).toBe(2 * FILE_SEND_BYTES_FIRST);
  size.notePassed(FILE_PIECE_BYTES * FILE_SEND_PARTS);
  expect(size.bytes).toBe(FILE_PIECE_BYTES);
  size.noteBroken();
  expect(size.bytes).toBe(FILE_SEND_BYTES_MIN);
  size.notePassed(FILE_SEND_BYTES_MIN * FILE_SEND_PARTS + 320);
  expect(size.bytes).toBe(FILE_SEND_BYTES_MIN + 10);
});
