import { type Flaw, REFUSALS, type Refusal, type RefusalCode } from '@tidemark/protocol';

/** RFC 9457, the one shape of everything that is refused. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: RefusalCode;
  readonly hint?: string;
  readonly request_id: string;
  readonly errors?: readonly Flaw[];
}

/** What to try, where the code alone says it. */
const HINTS: Partial<Record<RefusalCode, string>> = {
  not_found: 'check the path for typing errors, and for a prefix that a proxy added or removed',
  method_not_allowed: 'use one of the methods in the Allow header',
  internal: 'report it, with the lines the log has under this request_id',
};

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const hint = HINTS[refusal.code];
  return {
    type: `urn:tidemark:problem:${refusal.code}`,
    title: REFUSALS[refusal.code].title,
    status: refusal.status,
    detail: refusal.message,
    code: refusal.code,
    ...(hint === undefined ? {} : { hint }),
    request_id: requestId,
    ...(refusal.flaws.length === 0 ? {} : { errors: refusal.flaws }),
  };
}

/** Would the caller rather read plain text than JSON? When it does not care, JSON it is. */
export function prefersText(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const ranges = accept.split(',').map(readRange);
  const json = Math.max(qualityOf('application/problem+json', ranges), qualityOf('application/json', ranges));
  return qualityOf('text/plain', ranges) > json;
}

interface MediaRange {
  readonly media: string;
  readonly quality: number;
}

function readRange(text: string): MediaRange {
  const [media = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = given === undefined ? 1 : Number(given.slice(2));
  return { media, quality: Number.isFinite(quality) ? quality : 0 };
}

/** The most specific range that covers a media type decides. */
function qualityOf(media: string, ranges: readonly MediaRange[]): number {
  const family = `${media.slice(0, media.indexOf('/'))}/*`;
  for (const candidate of [media, family, '*/*']) {
    const found = ranges.find((range) => range.media === candidate);
    if (found !== undefined) return found.quality;
  }
  return 0;
}
