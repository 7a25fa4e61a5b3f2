interface MediaRange {
  readonly media: string;
  readonly quality: number;
}

/**
 * Returns the quality of a media type in an `Accept` header, from 0 (refused) to 1. Without a header everything has
 * 1.
 */
function qualityOf(media: string, accept: string | undefined): number {
  const ranges = (accept ?? '*/*').split(',').map(readRange);
  const family = `${media.slice(0, media.indexOf('/'))}/*`;
  for (const candidate of [media, family, '*/*']) {
    const found = ranges.find((range) => range.media === candidate);
    if (found !== undefined) return found.quality;
  }
  return 0;
}

/** True if the caller prefers plain text. A caller without preference gets JSON. */
export function prefersText(accept: string | undefined): boolean {
  const json = Math.max(qualityOf('application/problem+json', accept), qualityOf('application/json', accept));
  return qualityOf('text/plain', accept) > json;
}

/** True if the caller prefers JSON. A caller without preference gets plain text. */
export function prefersJson(accept: string | undefined): boolean {
  return qualityOf('application/json', accept) > qualityOf('text/plain', accept);
}

function readRange(text: string): MediaRange {
  const [media = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = given === undefined ? 1 : Number(given.slice(2));
  return { media, quality: Number.isFinite(quality) ? quality : 0 };
}
