import { WHOLE_CODINGS } from './whole-codings.ts';

/** How a body travels. */
export type Coding = 'gzip' | 'zstd' | 'br' | 'identity';

/**
 * The best first. A caller who takes several equally gets gzip: it is the one that is joined from parts compressed
 * before, so it costs least.
 */
const OFFERED: readonly Exclude<Coding, 'identity'>[] =
  WHOLE_CODINGS.zstd === undefined ? ['gzip', 'br'] : ['gzip', 'zstd', 'br'];

/** The coding of an answer to a request with this Accept-Encoding. Who says nothing gets the body as it is. */
export function codingFor(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const wanted = acceptEncoding.split(',').map(readChoice);
  let best: Coding = 'identity';
  let bestQuality = 0;
  for (const coding of OFFERED) {
    const quality = qualityOf(coding, wanted);
    if (quality > bestQuality) [best, bestQuality] = [coding, quality];
  }
  // Whoever would rather have it plain says so; to be silent about plain means to prefer whatever is named.
  const plain = wanted.find(({ coding }) => coding === 'identity')?.quality ?? 0;
  return plain > bestQuality ? 'identity' : best;
}

interface Choice {
  readonly coding: string;
  readonly quality: number;
}

function qualityOf(coding: string, wanted: readonly Choice[]): number {
  const choice = wanted.find((one) => one.coding === coding) ?? wanted.find((one) => one.coding === '*');
  return choice?.quality ?? 0;
}

function readChoice(text: string): Choice {
  const [coding = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = given === undefined ? 1 : Number(given.slice(2));
  return { coding: coding === 'x-gzip' ? 'gzip' : coding, quality: quality >= 0 && quality <= 1 ? quality : 0 };
}
