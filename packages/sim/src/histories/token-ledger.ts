import type { Place } from './place.ts';
import { placeKey } from './place.ts';

/** What the simulation knows about a token the server gave out. Tokens are opaque, so it is learned by watching. */
export interface TokenIssue {
  readonly life: string;
  /** Whether the partition had ever been written to; if not, the first write begins its life. */
  readonly written: boolean;
  /** The token this one was given in exchange for. */
  readonly askedWith: string | null;
  /** Oracle time and head of the last `more: false` on the way to this token; null while starting over. */
  readonly base: { readonly time: number; readonly head: number } | null;
  /** Something has been trimmed since, so the server may have to start this device over. */
  readonly endangered: boolean;
}

interface Presented {
  readonly token: string;
  readonly atMs: number;
}

/** All tokens given out and all tokens presented, by partition. */
export class TokenLedger {
  readonly #issues = new Map<string, Map<string, TokenIssue>>();
  readonly #presented = new Map<string, Map<string, Presented>>();

  issue(place: Place, token: string, issue: TokenIssue): void {
    within(this.#issues, place).set(token, issue);
  }

  find(place: Place, token: string | null): TokenIssue | undefined {
    return token === null ? undefined : within(this.#issues, place).get(token);
  }

  /** The server has seen this device with this token. */
  present(place: Place, client: string, presented: Presented): void {
    within(this.#presented, place).set(client, presented);
  }

  /** The server no longer knows how far this device came. */
  forgetClient(place: Place, client: string): void {
    within(this.#presented, place).delete(client);
  }

  forgetPlace(place: Place): void {
    this.#presented.delete(placeKey(place));
  }

  /** After a trim nobody asked the devices about. */
  endangerAll(place: Place): void {
    this.#endanger(place, () => false);
  }

  /**
   * After a trim by tidemarks. It must not hurt a device seen recently: the token it presented last, and those it was
   * given in exchange, stay good. One seen ahead of now, before the clock was set back, was seen recently as well.
   */
  endangerUnseen(place: Place, nowMs: number, retentionMs: number): void {
    const seen = new Set<string>();
    for (const { token, atMs } of within(this.#presented, place).values()) {
      if (Math.abs(nowMs - atMs) < retentionMs) seen.add(token);
    }
    this.#endanger(place, (token, { askedWith }) => seen.has(token) || (askedWith !== null && seen.has(askedWith)));
  }

  /** Tokens of other partitions that would do harm if this one took them for its own. */
  foreign(place: Place): string[] {
    const others = [...this.#issues].filter(([key]) => key !== placeKey(place));
    return others.flatMap(([, issues]) => [...issues].filter(([, { written }]) => written).map(([token]) => token));
  }

  #endanger(place: Place, isSafe: (token: string, issue: TokenIssue) => boolean): void {
    const issues = within(this.#issues, place);
    for (const [token, issue] of issues) {
      if (!isSafe(token, issue)) issues.set(token, { ...issue, endangered: true });
    }
  }
}

function within<T>(byPlace: Map<string, Map<string, T>>, place: Place): Map<string, T> {
  const key = placeKey(place);
  const known = byPlace.get(key) ?? new Map<string, T>();
  byPlace.set(key, known);
  return known;
}
