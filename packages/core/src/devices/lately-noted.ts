/** Devices and sources remembered at once; beyond it the one not heard of for longest is forgotten. */
const REMEMBERED_MAX = 50_000;

/**
 * Devices at rest whose place is known to be noted. They present the same token again and again, and finding that out
 * from the store would cost as much as all the rest of looking for changes.
 */
export class LatelyNoted {
  readonly #everyMs: number;
  readonly #noted = new Map<string, { readonly token: string; readonly atMs: number }>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  has(client: string, source: string, token: string, nowMs: number): boolean {
    const noted = this.#noted.get(keyOf(client, source));
    return noted !== undefined && noted.token === token && nowMs - noted.atMs < this.#everyMs;
  }

  add(client: string, source: string, token: string, nowMs: number): void {
    const key = keyOf(client, source);
    this.#noted.delete(key);
    this.#noted.set(key, { token, atMs: nowMs });
    for (const oldest of this.#noted.keys()) {
      if (this.#noted.size <= REMEMBERED_MAX) return;
      this.#noted.delete(oldest);
    }
  }
}

/** Names hold no control characters, so these two cannot meet. */
function keyOf(client: string, source: string): string {
  return `${client}\n${source}`;
}
