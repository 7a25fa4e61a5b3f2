import type { RenderedPage } from '@tidemark/core';
import { shareParts, type TextPart } from '../../http/coding/text-parts.ts';

/** A page on its way to a device, as JSON. */
export function partsOfPage({ token, body, isShared }: RenderedPage): readonly TextPart[] {
  return [`{"token":"${token}",`, ...(isShared ? shareParts(body.parts) : body.parts)];
}
