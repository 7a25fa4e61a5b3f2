import { sendLoad } from '../load.ts';
import { longestHoldMs, median } from '../measure.ts';
import type { Row } from '../row.ts';

const ROUNDS = 3;
const AT_ONCE = 4;

/** Where the bodies go: a server in this process, with the shared source `Product`. */
export interface Target {
  readonly port: number;
  readonly token: string;
}

const OBJECTS = () => bodyOf(Array.from({ length: 100_000 }, (_, index) => smallObject(index)));
const NESTED = () => bodyOf(Array.from({ length: 33 }, (_, index) => `"o${index}":{"a":[${'[],'.repeat(99_999)}1]}`));
const LONG = () => bodyOf([`"o":{"a":"${'x'.repeat(9_900_000)}"}`]);

/** Objects as apps push them, and the structures that cost a parser most for their length, alone and together. */
const CASES = [
  { what: '100,000 objects', make: OBJECTS, atOnce: 1 },
  { what: 'nested lists', make: NESTED, atOnce: 1 },
  { what: 'one long text', make: LONG, atOnce: 1 },
  { what: `${AT_ONCE} times 100,000 objects at once`, make: OBJECTS, atOnce: AT_ONCE },
  { what: `${AT_ONCE} nested lists at once`, make: NESTED, atOnce: AT_ONCE },
];

/**
 * How long the event loop is held at a time while a body of 10 MB is read, parsed, admitted and written, against the
 * longest that a bare `JSON.parse` of one of the same bodies holds it.
 */
export async function largeBody(target: Target): Promise<Row> {
  const ours: number[] = [];
  const bare: number[] = [];
  const parts: string[] = [];
  for (const { what, make, atOnce } of CASES) {
    const hold = await holdsOf(target, make(), atOnce);
    ours.push(hold.oursMs);
    bare.push(hold.bareMs);
    parts.push(`${what} ${hold.oursMs.toFixed(0)}`);
  }
  return {
    name: 'event loop held by 10 MB bodies',
    measured: `${Math.max(...ours).toFixed(0)} ms (${parts.join(', ')})`,
    against: `${Math.max(...bare).toFixed(0)} ms by a bare JSON.parse`,
    ratio: Math.max(...ours) / Math.max(...bare),
    bound: { atMost: 0.5 },
  };
}

async function holdsOf(
  { port, token }: Target,
  body: string,
  atOnce: number,
): Promise<{ readonly oursMs: number; readonly bareMs: number }> {
  const head = [
    'POST /app/v1/Product/push_objects HTTP/1.1',
    'host: localhost',
    `x-sync-api-token: ${token}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  const request = `${head.join('\r\n')}\r\n\r\n${body}`;
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await longestHoldMs(() => sendLoad({ port, request, connections: atOnce, requests: atOnce })));
    bare.push(await longestHoldMs(async () => JSON.parse(body)));
  }
  return { oursMs: median(ours), bareMs: median(bare) };
}

function bodyOf(members: readonly string[]): string {
  return `{"objects":{${members.join(',')}}}`;
}

function smallObject(index: number): string {
  return `"object-${index}":${JSON.stringify({ name: `thing ${index}`, price: index / 100, text: 'x'.repeat(30) })}`;
}
