/** Where pages were that have moved, and where they are now, both without their ending. Addresses of pages stay valid. */
export const MOVED_PAGES: ReadonlyMap<string, string> = new Map([
  ['backend', 'backend/contract'],
  ['backend-python', 'backend/python'],
  ['backend-ruby', 'backend/ruby'],
  ['backend-sdk', 'backend/typescript'],
  ['cli', 'reference/cli'],
  ['errors', 'reference/errors'],
  ['groups', 'guides/groups'],
  ['limits', 'reference/limits'],
  ['proof', 'explanation/proof'],
  ['proof-record', 'explanation/proof-record'],
  ['sign-in', 'guides/sign-in'],
  ['source-modules', 'backend/source-modules'],
  ['sync-protocol', 'reference/sync-protocol'],
]);

/** Returns the present path of a page that has moved, with the ending that was asked for; null: it was never there. */
export function movedTo(path: string): string | null {
  const [, page = '', ending = ''] = /^(.*?)(\.html|\.md)?$/.exec(path) ?? [];
  const moved = MOVED_PAGES.get(page);
  return moved === undefined ? null : `${moved}${ending}`;
}
