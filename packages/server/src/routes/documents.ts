import type { DocumentView } from '@tidemark/core';
import { prefersJson } from '../http/negotiate.ts';
import { JsonText, TextAnswer } from '../http/route.ts';

/** A document as its reader wants it: objects as JSON; a text as it is, or as a JSON string for who asks for JSON. */
export function documentAnswer(view: DocumentView, accept: string | undefined): TextAnswer | JsonText {
  if (view.type === 'text')
    return prefersJson(accept) ? new JsonText(JSON.stringify(view.text)) : new TextAnswer(view.text);
  const members = [...view.objects].map(([id, text]) => `${JSON.stringify(id)}:${text}`);
  return new JsonText(`{${members.join(',')}}`);
}
