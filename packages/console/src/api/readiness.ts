/** The state of the calls to the backend. */
interface Breaker {
  readonly state: string;
  readonly failures: number;
  readonly until?: string | null;
}

/** What `/readyz` answers to callers who may read. */
export interface Readiness {
  readonly status: string;
  readonly durability?: string;
  readonly checks?: readonly { readonly name: string; readonly ok: boolean; readonly detail: string }[];
  readonly connectors?: readonly {
    readonly name: string;
    readonly faults: readonly { readonly code: string; readonly message: string }[];
  }[];
  readonly backend?: Breaker & { readonly calls?: Readonly<Record<string, Breaker>> };
}

/** How a check is shown. A warning does not make the server unready, and is not fine either. */
export function checkState({ name, ok }: { readonly name: string; readonly ok: boolean }): 'ok' | 'warning' | 'fails' {
  if (!ok) return 'fails';
  return name === 'warning' ? 'warning' : 'ok';
}
