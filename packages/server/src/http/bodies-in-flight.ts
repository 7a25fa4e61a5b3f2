import type { Bearer } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import {
  IN_FLIGHT_BYTES_MAX,
  IN_FLIGHT_BYTES_PER_TOKEN_MAX,
  IN_FLIGHT_BYTES_PER_USER_MAX,
  IN_FLIGHT_UNCOUNTED_BYTES_MAX,
} from '../limits.ts';

const RETRY_AFTER_S = 1;

/**
 * Counts the bytes of bodies that have arrived and whose requests are not answered yet: of each caller, and of all
 * together. What is announced and not sent takes no memory and does not count.
 */
export class BodiesInFlight {
  #bytes = 0;
  /** Holds only callers with bytes. */
  readonly #byCaller = new Map<string, number>();

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the counter of one body. */
  begin(bearer: Bearer | null): BodyCounter {
    const { caller, bytesMax } = shareOf(bearer);
    let received = 0;
    let counted = 0;
    const refusal = (bytes: number): Refusal | null => {
      const ofCaller = this.#byCaller.get(caller) ?? 0;
      if (ofCaller > counted && ofCaller + bytes > bytesMax) return OWN_SHARE_USED();
      if (this.#bytes > counted && this.#bytes + bytes > IN_FLIGHT_BYTES_MAX) return ALL_USED();
      return null;
    };
    return {
      refusalOf: (announced) =>
        refusal(Number.isFinite(announced) ? Math.max(0, announced - IN_FLIGHT_UNCOUNTED_BYTES_MAX) : 0),
      add: (bytes) => {
        received += bytes;
        const more = Math.max(0, received - IN_FLIGHT_UNCOUNTED_BYTES_MAX) - counted;
        const refused = more === 0 ? null : refusal(more);
        if (refused === null) {
          this.#add(caller, more);
          counted += more;
        }
        return refused;
      },
      end: () => {
        this.#add(caller, -counted);
        counted = 0;
      },
    };
  }

  #add(caller: string, bytes: number): void {
    this.#bytes += bytes;
    const ofCaller = (this.#byCaller.get(caller) ?? 0) + bytes;
    if (ofCaller === 0) this.#byCaller.delete(caller);
    else this.#byCaller.set(caller, ofCaller);
  }
}

/** Counts the bytes of one body. A caller's only body is never refused for its share, and the only one of all never at all. */
export interface BodyCounter {
  /** Returns the refusal of a body of so many bytes, if there is no room for it now; infinite: in chunks. */
  refusalOf(announced: number): Refusal | null;
  /** Counts bytes that have arrived, or returns the refusal of the body. */
  add(bytes: number): Refusal | null;
  /** Called when the request is over. */
  end(): void;
}

/** The devices of one user share a part; a token of the REST API has its own, as a backend pushes several at once. */
function shareOf(bearer: Bearer | null): { readonly caller: string; readonly bytesMax: number } {
  if (bearer === null) return { caller: 'public', bytesMax: IN_FLIGHT_BYTES_PER_USER_MAX };
  if (bearer.client !== null) return { caller: `user ${bearer.user}`, bytesMax: IN_FLIGHT_BYTES_PER_USER_MAX };
  return { caller: `token ${bearer.tokenId}`, bytesMax: IN_FLIGHT_BYTES_PER_TOKEN_MAX };
}

const OWN_SHARE_USED = () =>
  new Refusal('rate_limited', 'too many large bodies of this caller are being processed', [], RETRY_AFTER_S);
const ALL_USED = () =>
  new Refusal('overloaded', 'too many large bodies are being processed at once', [], RETRY_AFTER_S);
