import type { SourceSchema } from '@tidemark/protocol';
import { buildFixture, endFixture, objectsFrom, SOURCE } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const BATCH = 1_000;
const ROUNDS = 100;
/** A round more for warming up. */
const BATCHES = ROUNDS + 1;
const RATIO_MAX = 1.3;
const CHECKED = 'Checked';

const SCHEMA: SourceSchema = {
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 200 },
    brand: { type: 'string' },
    price: { type: 'number', minimum: 0 },
    stock: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 20 },
    text: { type: ['string', 'null'] },
  },
  required: ['name', 'price'],
  additionalProperties: false,
};

type Objects = Record<string, Record<string, unknown>>;

/** Pushes of 1,000 objects to a source whose schema is enforced, against a source whose schema is off, both to the disk. */
export async function enforcedPush(say: (line: string) => void): Promise<readonly Row[]> {
  const fixture = await buildFixture(0, say);
  const { sources, objects } = fixture.tidemark;
  await sources.declare({ name: CHECKED, partition_type: 'app' });
  await sources.schemas.set(SOURCE, { schema: SCHEMA, mode: 'off' });
  await sources.schemas.set(CHECKED, { schema: SCHEMA, mode: 'enforce' });
  const measure = async (name: string, batches: readonly Objects[]) => {
    const turns = new Map([CHECKED, SOURCE].map((source) => [source, 0]));
    const push = (source: string) => () => {
      const turn = turns.get(source) ?? 0;
      turns.set(source, turn + 1);
      return objects.push({ source, objects: batches[turn] });
    };
    const { medianMs } = await compare([push(CHECKED), push(SOURCE)], { count: ROUNDS, runs: 1 });
    const [checked = 0, unchecked = 0] = medianMs;
    return rowOf(name, checked, unchecked);
  };
  const whole = Array.from({ length: BATCHES }, (_, batch) => objectsFrom(batch * BATCH, BATCH));
  const rows = [
    await measure('enforced push of 1,000 new objects', whole),
    // Required attributes are those that the stored objects have.
    await measure('enforced push of one attribute of 1,000 objects', whole.map(onlyStock)),
  ];
  await endFixture(fixture);
  return rows;
}

function onlyStock(batch: Objects): Objects {
  return Object.fromEntries(Object.keys(batch).map((id, index) => [id, { stock: index + 1_000 }]));
}

function rowOf(name: string, checkedMs: number, uncheckedMs: number): Row {
  return {
    name,
    measured: `${checkedMs.toFixed(2)} ms`,
    against: `${uncheckedMs.toFixed(2)} ms with the mode off`,
    ratio: checkedMs / uncheckedMs,
    bound: { atMost: RATIO_MAX },
  };
}
