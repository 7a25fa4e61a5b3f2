import { execFileSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip, gunzipSync } from 'node:zlib';
import { CONTENT_CODINGS } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { COMPRESSIONS_AT_ONCE_MAX } from '../../limits.ts';
import { crc32, crc32ByTable, joinCrc32 } from './crc32.ts';
import { encodeLines, encodeParts, withCompressionSlot } from './encode-parts.ts';
import { gzipParts as gzipPieces } from './gzip-parts.ts';
import { codingFor } from './negotiate-coding.ts';
import { bytesOf, type Piece, shareParts, type TextPart } from './text-parts.ts';

/** A text like a page with this number of objects. */
function pageOf(objects: number): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: objects }, (_, n) => [`o${n}`, { name: `é ${n * 7}` }])),
  );
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function sharedBytes(text: string): Uint8Array {
  const [part] = shareParts([bytes(text)]);
  return part as Uint8Array;
}

async function gzipParts(parts: readonly TextPart[]): Promise<Buffer> {
  return Buffer.concat(await gzipPieces(parts));
}

async function encoded(parts: readonly TextPart[], accept: string) {
  const { pieces, coding } = await encodeParts(parts, accept);
  return { bytes: Buffer.concat(pieces.map(bytesOf)), coding };
}

const shared = sharedBytes(pageOf(2_000));
const small = bytes('a small one, é');
const mixtures: readonly (readonly [string, readonly TextPart[]])[] = [
  ['nothing', []],
  ['one character', ['x']],
  ['as much as is put in as it is', ['x'.repeat(512)]],
  ['one more', ['x'.repeat(513)]],
  ['a shared text alone', [shared]],
  ['the same twice', [shared, shared]],
  ['shared and own by turns', ['{"a":', shared, ',"b":', small, ',"c":', bytes(pageOf(500)), '}']],
  ['much of its own', [pageOf(10_000), shared, pageOf(10_000)]],
  ['all that Unicode has', ['\u0000\u00e9\u4e2d\ud83c\udf0a'.repeat(400), shared]],
];

function textOf(parts: readonly TextPart[]): string {
  return Buffer.concat(parts.map((part) => Buffer.from(part))).toString();
}

describe('checksums of gzip', () => {
  it('[WIRE-2] the checksum of a text follows from the checksums of its parts, wherever it is split', () => {
    const bytes = Buffer.from(pageOf(100));
    for (const cut of [0, 1, 2, 7, 255, 256, 1_000, bytes.length - 1, bytes.length]) {
      const [first, second] = [bytes.subarray(0, cut), bytes.subarray(cut)];
      expect(joinCrc32(crc32(first), crc32(second), second.length)).toBe(crc32(bytes));
    }
    expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  });

  it('[WIRE-2] checksums are the same on versions of Node.js without a built-in function', () => {
    for (const text of ['', 'a', '123456789', pageOf(50)]) {
      expect(crc32ByTable(Buffer.from(text))).toBe(crc32(Buffer.from(text)));
    }
  });
});

describe('a gzip stream joined from parts', () => {
  it.each(mixtures)('[WIRE-2] a joined gzip stream is read by Node.js: %s', async (_name, parts) => {
    expect(gunzipSync(await gzipParts(parts)).toString()).toBe(textOf(parts));
  });

  it.each(mixtures)('[WIRE-2] a joined gzip stream is a single member: %s', async (_name, parts) => {
    const bytes = await gzipParts(parts);
    const gunzip = createGunzip();
    gunzip.end(bytes);
    await buffer(gunzip);
    // The reader consumed all bytes, and the trailer has the length of the whole text.
    expect(gunzip.bytesWritten).toBe(bytes.length);
    expect(bytes.readUInt32LE(bytes.length - 4)).toBe(Buffer.byteLength(textOf(parts)));
  });

  it.each(mixtures)('[WIRE-2] a joined gzip stream passes the check of the gzip program: %s', async (_name, parts) => {
    const plain = execFileSync('gzip', ['-dc'], { input: await gzipParts(parts), maxBuffer: 2 ** 26 });
    expect(plain.toString()).toBe(textOf(parts));
  });

  it('[WIRE-2] damage to a part is detected in the joined gzip stream', async () => {
    const bytes = await gzipParts(['x'.repeat(100), shared]);
    bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
    expect(() => gunzipSync(bytes)).toThrow(/incorrect data check/);
  });

  it('[WIRE-3] a joined gzip stream contains shared parts byte for byte', async () => {
    const body = sharedBytes(pageOf(3_000));
    const [first, second] = await Promise.all([
      gzipParts(['for anna:', body]),
      gzipParts(['for somebody else:', body]),
    ]);
    const [alone] = [await gzipParts([body])];
    const inner = alone.subarray(10, alone.length - 10);
    expect([first.includes(inner), second.includes(inner)]).toEqual([true, true]);
    expect(inner.length).toBeLessThan(body.length / 3);
  });
});

describe('the coding of an answer', () => {
  it.each([
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP;q=0.1', 'gzip'],
    ['gzip, deflate, br', 'gzip'],
    ['br', 'br'],
    ['br;q=1, gzip;q=0.8', 'br'],
    ['gzip;q=0', 'identity'],
    ['*', 'gzip'],
    ['*;q=0', 'identity'],
    ['*, gzip;q=0, zstd;q=0', 'br'],
    ['deflate', 'identity'],
    ['gzip;q=0.5, identity', 'identity'],
    ['gzip;q=nonsense', 'identity'],
    ['gzip;q=7', 'identity'],
    ['zstd', CONTENT_CODINGS.some(({ name }) => name === 'zstd') ? 'zstd' : 'identity'],
  ] as const)('[WIRE-1] for Accept-Encoding %j the coding is %s', (header, coding) => {
    expect(codingFor(header)).toBe(coding);
  });

  it('[WIRE-6] answers for one caller are compressed faster than shared ones', async () => {
    const [own, again] = [await gzipParts([bytes(pageOf(3_000))]), await gzipParts([sharedBytes(pageOf(3_000))])];
    expect(own.length).toBeGreaterThan(again.length);
    expect(gunzipSync(own)).toEqual(gunzipSync(again));
  });

  it('[WIRE-1] small answers are not compressed', async () => {
    const { bytes, coding } = await encoded(['x'.repeat(1_023)], 'gzip');
    expect([bytes.toString(), coding]).toEqual(['x'.repeat(1_023), 'identity']);
    expect((await encodeParts(['x'.repeat(1_024)], 'gzip')).coding).toBe('gzip');
  });

  it('[WIRE-1] the text is the same in every coding', async () => {
    const parts = ['{"a":', shared, '}'];
    for (const { name, read } of CONTENT_CODINGS) {
      const { bytes, coding } = await encoded(parts, name);
      expect([coding, read(bytes)]).toEqual([name, textOf(parts)]);
    }
  });

  it('[WIRE-1] under heavy load the next answers are sent uncompressed, and later ones compressed again', async () => {
    const many = Array.from({ length: 100 }, (_, n) => encodeParts([pageOf(1_000 + n)], 'gzip'));
    const codings = (await Promise.all(many)).map(({ coding }) => coding);
    expect(codings.filter((coding) => coding === 'gzip')).toHaveLength(64);
    expect((await encodeParts([pageOf(10) + pageOf(300)], 'gzip')).coding).toBe('gzip');
  });
});

async function* piecesOf(lines: AsyncIterable<readonly Piece[]>): AsyncGenerator<Buffer> {
  for await (const pieces of lines) yield* pieces.map(bytesOf);
}

describe('lines', () => {
  async function* lines(count: number): AsyncGenerator<readonly TextPart[]> {
    for (let n = 0; n < count; n++) yield [`{"n":${n},`, n % 2 === 0 ? shared : pageOf(20), '}\n'];
  }
  const expected = Array.from(
    { length: 5 },
    (_, n) => `{"n":${n},${n % 2 === 0 ? textOf([shared]) : pageOf(20)}}\n`,
  ).join('');

  it.each(CONTENT_CODINGS)('[WIRE-4] lines sent as $name arrive completely', async ({ name, read }) => {
    expect(read(await buffer(Readable.from(piecesOf(encodeLines(lines(5), name)))))).toBe(expected);
    expect(read(await buffer(Readable.from(piecesOf(encodeLines(lines(0), name)))))).toBe('');
  });

  it.each(CONTENT_CODINGS)(
    '[WIRE-7] each line sent as $name can be read before the next one is made',
    async ({ name, open }) => {
      const read: string[] = [];
      let isRead = () => {};
      async function* oneByOne(): AsyncGenerator<readonly TextPart[]> {
        for (const line of ['first', 'second', 'third']) {
          const wait = new Promise<void>((resolve) => {
            isRead = resolve;
          });
          yield [`${line} ${pageOf(200)}\n`];
          await wait;
        }
      }
      const plain = Readable.from(piecesOf(encodeLines(oneByOne(), name))).pipe(open());
      for await (const line of createInterface({ input: plain })) {
        read.push(line.slice(0, line.indexOf(' ')));
        isRead();
      }
      expect(read).toEqual(['first', 'second', 'third']);
    },
  );

  it.each(CONTENT_CODINGS)(
    '[WIRE-4] lines sent as $name are made no faster than they are read, and not after the reader stopped',
    async ({ name }) => {
      let made = 0;
      let hasEnded = () => {};
      const ended = new Promise<void>((resolve) => {
        hasEnded = resolve;
      });
      async function* endless(): AsyncGenerator<readonly TextPart[]> {
        try {
          for (;;) {
            made++;
            // Incompressible, so that every coding has output.
            yield [Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('base64'), '\n'];
          }
        } finally {
          hasEnded();
        }
      }
      for await (const _chunk of encodeLines(endless(), name)) if (made >= 20) break;
      expect(made).toBeLessThan(name === 'identity' || name === 'gzip' ? 21 : 60);
      await ended;
    },
  );
});

describe('the compression limit', () => {
  it('[WIRE-8] compressions leave threads of the pool for passwords', async () => {
    const open: (() => void)[] = [];
    const works = Array.from({ length: 10 }, (_, index) =>
      withCompressionSlot(() => new Promise<number>((resolve) => open.push(() => resolve(index)))),
    );
    const done: number[] = [];
    for (let ended = 0; ended < works.length; ended++) {
      await new Promise(setImmediate);
      expect(open.length).toBe(Math.min(works.length, ended + COMPRESSIONS_AT_ONCE_MAX));
      open[ended]?.();
      done.push(await (works[ended] as Promise<number>));
    }
    expect(done).toEqual(works.map((_, index) => index));
  });

  it.each(CONTENT_CODINGS.filter(({ name }) => name !== 'identity'))(
    '[WIRE-8] lines sent as $name are read one by one, and each is complete',
    async ({ name, read }) => {
      const asked: number[] = [];
      async function* lines(): AsyncGenerator<readonly TextPart[]> {
        for (let line = 0; line < 3; line++) {
          asked.push(line);
          yield [pageOf(3_000), '\n'];
        }
      }
      const pieces: Piece[] = [];
      const encodedLines = encodeLines(lines(), name)[Symbol.asyncIterator]();
      let steps = 0;
      for (let step = await encodedLines.next(); step.done !== true; step = await encodedLines.next()) {
        pieces.push(...step.value);
        steps++;
        // A gzip stream begins with its header.
        expect(asked.length).toBeLessThanOrEqual(steps);
      }
      expect(asked).toEqual([0, 1, 2]);
      expect(read(Buffer.concat(pieces.map(bytesOf)))).toBe(`${pageOf(3_000)}\n`.repeat(3));
    },
  );
});
