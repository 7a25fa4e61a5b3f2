interface MediaRange {
  readonly media: string;
  readonly quality: number;
}

/** How much a caller wants a media type: 0 not at all, 1 most. Who says nothing takes everything. */
function qualityOf(media: string, accept: string | undefined): number {
  const ranges = (accept ?? '*/*').split(',').map(readRange);
  const family = `${media.slice(0, media.indexOf('/'))}/*`;
  for (const candidate of [media, family, '*/*']) {
    const found = ranges.find((range) => range.media === candidate);
    if (found !== undefined) return found.quality;
  }
  return 0;
}

/** Would the caller rather read plain text than JSON? When it does not care, JSON it is. */
export function prefersText(accept: string | undefined): boolean {
  const json = Math.max(qualityOf('application/problem+json', accept), qualityOf('application/json', accept));
  return qualityOf('text/plain', accept) > json;
}

/** Would the caller rather read JSON than plain text? When it does not care, plain text it is. */
export function prefersJson(accept: string | undefined): boolean {
  return qualityOf('application/json', accept) > qualityOf('text/plain', accept);
}

function readRange(text: string): MediaRange {
  const [media = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = given === undefined ? 1 : Number(given.slice(2));
  return { media, quality: Number.isFinite(quality) ? quality : 0 };
}
