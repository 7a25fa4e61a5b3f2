import { WHOLE_CODINGS } from './whole-codings.ts';

/** The content coding of a body. */
export type Coding = 'gzip' | 'zstd' | 'br' | 'identity';

/**
 * The offered codings, the best first. With equal preference the caller gets gzip, which costs least: it is joined
 * from parts compressed before.
 */
const OFFERED: readonly Exclude<Coding, 'identity'>[] =
  WHOLE_CODINGS.zstd === undefined ? ['gzip', 'br'] : ['gzip', 'zstd', 'br'];

/** Returns the coding for an Accept-Encoding header. Without one the body is not compressed. */
export function codingFor(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const wanted = acceptEncoding.split(',').map(readChoice);
  let best: Coding = 'identity';
  let bestQuality = 0;
  for (const coding of OFFERED) {
    const quality = qualityOf(coding, wanted);
    if (quality > bestQuality) [best, bestQuality] = [coding, quality];
  }
  // `identity` wins only if it is named with a higher quality.
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
