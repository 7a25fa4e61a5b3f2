const SHOWN_PATH_UNITS_MAX = 200;

/** Returns the path of a URL without its query, which may hold secrets, and cut off where it becomes too long to show. */
export function shownPath(url: string): string {
  const [path = ''] = url.split('?', 1);
  return path.length > SHOWN_PATH_UNITS_MAX ? `${path.slice(0, SHOWN_PATH_UNITS_MAX)}…` : path;
}
