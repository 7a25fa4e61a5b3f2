/** True if `If-None-Match` names this version, so that the caller has it already. Proxies that compress make tags weak. */
export function isNamed(etag: string, ifNoneMatch = ''): boolean {
  const named = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return named.includes(etag) || named.includes('*');
}
