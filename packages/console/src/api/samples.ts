/** One number of the server, with its labels. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^(\w+)(?:\{(.*)\})? ([^ ]+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function samplesIn(text: string): readonly Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, key = '', text = '']) => [key, text]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

/** Returns the value of a number, of all its labels together; undefined: the server does not measure it. */
export function sumOfSamples(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = matching(samples, name, labels);
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** Returns the upper bound of the bucket that holds the quantile; undefined: nothing was measured. */
export function quantileOf(
  samples: readonly Sample[],
  name: string,
  { quantile, ...labels }: { readonly quantile: number; readonly [label: string]: string | number },
): number | undefined {
  const counts = new Map<number, number>();
  for (const { labels: own, value } of matching(samples, `${name}_bucket`, labels)) {
    const bound = own.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(own.le);
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  const bounds = [...counts.keys()].sort((a, b) => a - b);
  const all = counts.get(Number.POSITIVE_INFINITY) ?? 0;
  return all === 0 ? undefined : bounds.find((bound) => (counts.get(bound) ?? 0) >= all * quantile);
}

function matching(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string | number>>,
): readonly Sample[] {
  const wanted = Object.entries(labels);
  return samples.filter(
    (sample) => sample.name === name && wanted.every(([key, value]) => sample.labels[key] === value),
  );
}
