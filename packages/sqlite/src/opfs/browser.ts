/** A time limit. Browsers have it since the version in which they have private files. */
export interface TimeLimit {
  addEventListener(type: 'abort', listener: () => void): void;
}

const signals = globalThis as unknown as { readonly AbortSignal: { timeout(ms: number): TimeLimit } };

export function timeLimit(ms: number): TimeLimit {
  return signals.AbortSignal.timeout(ms);
}
