/** Paths that are answered also under overload, because operators and load balancers watch the server by them. */
export const ALWAYS_ANSWERED: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);
