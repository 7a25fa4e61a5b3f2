/** The id of the object that a row with this key becomes. No two keys have the same. */
export function objectId(key: readonly string[]): string {
  if (key.length === 1) return key[0] ?? '';
  return key.map((text) => text.replaceAll('~', '~0').replaceAll('/', '~1')).join('/');
}

/** The key of the row that became the object. */
export function keyOf(id: string, columns: number): readonly string[] {
  if (columns === 1) return [id];
  return id.split('/').map((text) => text.replaceAll('~1', '/').replaceAll('~0', '~'));
}
