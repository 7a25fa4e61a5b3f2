import type { RenderedPage } from '@tidemark/core';
import { shareParts, type TextPart } from '../../http/coding/text-parts.ts';

/** Returns a page as JSON for a device. */
export function partsOfPage({ token, body, isShared }: RenderedPage): readonly TextPart[] {
  return [`{"token":"${token}",`, ...(isShared ? shareParts(body.parts) : body.parts)];
}
