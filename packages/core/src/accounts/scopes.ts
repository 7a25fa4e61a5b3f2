/** What a token lets its bearer do. `admin:reset` is apart, because nothing undoes a reset. */
export const SCOPES = ['admin', 'admin:reset', 'read', 'push', 'device'] as const;

export type Scope = (typeof SCOPES)[number];

/** Only an administrator's tokens may carry these. */
export const ADMIN_SCOPES: ReadonlySet<Scope> = new Set(['admin', 'admin:reset']);

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}
