import { sendLoad } from '../load.ts';
import { longestHoldMs, median } from '../measure.ts';
import type { Row } from '../row.ts';

const ROUNDS = 5;

/** Where the bodies go: a server in this process, with the shared source `Product`. */
export interface Target {
  readonly port: number;
  readonly token: string;
}

/** Objects as apps push them, and the structures that cost a parser most for their length. */
const BODIES: Readonly<Record<string, () => string>> = {
  '100,000 objects': () => bodyOf(Array.from({ length: 100_000 }, (_, index) => smallObject(index))),
  'nested lists': () =>
    bodyOf(Array.from({ length: 33 }, (_, index) => `"o${index}":{"a":[${'[],'.repeat(99_999)}1]}`)),
  'one long text': () => bodyOf([`"o":{"a":"${'x'.repeat(9_900_000)}"}`]),
};

/**
 * How long the event loop is held at a time while a body of 10 MB is read, parsed, admitted and written, against the
 * longest that a bare `JSON.parse` of one of the same bodies holds it.
 */
export async function largeBody(target: Target): Promise<Row> {
  const ours: number[] = [];
  const bare: number[] = [];
  const parts: string[] = [];
  for (const [what, make] of Object.entries(BODIES)) {
    const hold = await holdsOf(target, make());
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

async function holdsOf({ port, token }: Target, body: string): Promise<{ oursMs: number; bareMs: number }> {
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
    ours.push(await longestHoldMs(() => sendLoad({ port, request, connections: 1, requests: 1 })));
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
