/** Paths that are answered also under overload: they tell operators and balancers how the server is. */
export const ALWAYS_ANSWERED: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);
