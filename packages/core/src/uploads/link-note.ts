import { parseJson } from '@tidemark/protocol';
import type { Note } from '../ports/store.ts';

/**
 * What is known of an id a device has made up, kept as a note under that id.
 *
 * `pending`: the backend has not been asked yet, so nobody knows what it will be called;
 * `queue` is where its create waits, and `opId` which create that is. `given`: what it is called;
 * under that name the same note says by which id it began, since its uploads are ordered by that. `rejected`: its
 * creation was rejected, and whatever depends on it is rejected, too, as long as there is no object of that id.
 */
export type Link =
  | { readonly state: 'pending'; readonly queue: string; readonly opId: string }
  | { readonly state: 'given'; readonly id: string; readonly origin: string }
  | { readonly state: 'rejected' };

export function linkText(link: Link): string {
  return JSON.stringify(link);
}

export function readLink({ text }: Note): Link {
  return parseJson(text) as Link;
}
