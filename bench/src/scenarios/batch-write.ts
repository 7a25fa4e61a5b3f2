import { bareLmdb } from '../bare-lmdb.ts';
import { buildFixture, endFixture, objectsFrom, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const BATCH = 1_000;

/** So many that the engine of JavaScript has long done compiling: servers run for weeks. */
const ROUNDS = 200;
/** A round more for warming up. */
const BATCHES = ROUNDS + 1;

/**
 * Batches of 1,000 objects, from the parsed request to the disk, against the bare library writing the same bytes, ready
 * as text, under keys of the same size and in the same way (`bare-lmdb.ts`), one transaction a batch.
 */
export async function batchWrite(say: (line: string) => void): Promise<Row> {
  const fixture = await buildFixture(0, say);
  const raw = bareLmdb();
  const batches = Array.from({ length: BATCHES }, (_, batch) => objectsFrom(batch * BATCH, BATCH));
  const texts = batches.map((batch) =>
    Object.entries(batch).map(([id, object]) => [id, memberText(id, object)] as const),
  );
  let ourTurn = 0;
  let rawTurn = 0;
  const ours = () => fixture.tidemark.objects.push({ source: SOURCE, objects: batches[ourTurn++] });
  const bare = () => raw.write(texts[rawTurn++] ?? []);
  const { medianMs } = await compare([ours, bare], { count: ROUNDS, runs: 1 });
  const [oursMs = 0, bareMs = 0] = medianMs;
  await raw.close();
  await endFixture(fixture);
  return {
    name: 'durable batches of 1,000, objects/s',
    measured: perSecond(oursMs),
    against: `${perSecond(bareMs)} by bare lmdb`,
    ratio: bareMs / oursMs,
    bound: { atLeast: 0.5 },
  };
}

function memberText(id: string, object: unknown): string {
  return `${JSON.stringify(id)}:${JSON.stringify(object)}`;
}

function perSecond(batchMs: number): string {
  return Math.round((BATCH / batchMs) * 1_000).toLocaleString('en');
}
