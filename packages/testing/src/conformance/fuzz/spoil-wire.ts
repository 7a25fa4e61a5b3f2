import type { Rng } from '@tidemark/client-testing';

/** Damages the bytes of a request in a few places, as a broken or malicious client would. */
export function spoilWire(request: string, rng: Rng): Buffer {
  let bytes = Buffer.from(request);
  for (let times = rng.between(1, 4); times > 0; times--) bytes = spoilOnce(bytes, rng);
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

function spoilOnce(bytes: Buffer, rng: Rng): Buffer<ArrayBuffer> {
  const place = rng.below(bytes.length + 1);
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (rng.below(5)) {
    case 0:
      return Buffer.concat([before]);
    case 1:
      return Buffer.concat([before, after.subarray(rng.below(8))]);
    case 2:
      return Buffer.concat([before, Buffer.from(rng.pick(SIGNS), 'latin1'), after]);
    case 3:
      return Buffer.concat([before, Buffer.from([rng.below(256)]), after.subarray(1)]);
    default:
      return Buffer.concat([before, before.subarray(-rng.between(1, 40)), after]);
  }
}
