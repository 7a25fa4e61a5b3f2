import type { Dice } from '@tidemark/client-testing';

/** Damages the bytes of a request in a few places, as a broken or malicious client would. */
export function spoilWire(request: string, dice: Dice): Buffer {
  let bytes = Buffer.from(request);
  for (let times = dice.between(1, 4); times > 0; times--) bytes = spoilOnce(bytes, dice);
  return bytes;
}

const SIGNS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\0',
  ':',
  ' ',
  '\t',
  '\x7f',
  '\xff',
  'Transfer-Encoding: chunked\r\n',
  'HTTP/9.9',
];

function spoilOnce(bytes: Buffer, dice: Dice): Buffer<ArrayBuffer> {
  const place = dice.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (dice.below(5)) {
    case 0:
      return Buffer.concat([before]);
    case 1:
      return Buffer.concat([before, after.subarray(dice.below(8))]);
    case 2:
      return Buffer.concat([before, Buffer.from(dice.pick(SIGNS), 'latin1'), after]);
    case 3:
      return Buffer.concat([before, Buffer.from([dice.below(256)]), after.subarray(1)]);
    default:
      return Buffer.concat([before, before.subarray(-dice.between(1, 40)), after]);
  }
}
