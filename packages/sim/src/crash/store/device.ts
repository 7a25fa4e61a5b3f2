import { addChecksums, subtractChecksums } from '@tidemark/protocol';
import { factText } from './facts.ts';
import { checksumOf } from './read-store.ts';
import type { Attributes } from './unfold-bunch.ts';

/** A page as it arrives. */
export interface DevicePage {
  readonly token: string;
  readonly more: boolean;
  readonly reset?: true;
  readonly delete?: readonly string[];
  readonly put?: Readonly<Record<string, Attributes>>;
  readonly drop?: Readonly<Record<string, readonly string[]>>;
  readonly patch?: Readonly<Record<string, Attributes>>;
  readonly size: number;
  readonly checksum?: number;
}

/**
 * A device that outlives the server: it lives in the parent, and a worker's lines are its network. It keeps what
 * pages tell it and complains when a page cannot be meant for it.
 */
export class Device {
  readonly #objects = new Map<string, Attributes>();
  /** The ids mentioned since the last reset; null when nothing is being started over. */
  #mentioned: Set<string> | null = null;
  #token: string | null = null;
  #checksum = 0;

  get token(): string | null {
    return this.#token;
  }

  get isStartingOver(): boolean {
    return this.#token === null || this.#mentioned !== null;
  }

  /** Id → attributes as a fact. */
  texts(): ReadonlyMap<string, string> {
    return new Map([...this.#objects].map(([id, attributes]) => [id, factText(attributes)]));
  }

  get size(): number {
    return this.#objects.size;
  }

  get checksum(): number {
    return this.#checksum;
  }

  /** Applies a page in one step. Null: all is well; otherwise what is wrong with the page. */
  receive(page: DevicePage): string | null {
    if (page.reset === true) this.#mentioned = new Set();
    for (const id of page.delete ?? []) this.#forget(id);
    for (const [id, attributes] of Object.entries(page.put ?? {})) this.#keep(id, attributes);
    const stranger = patchedIds(page).find((id) => !this.#objects.has(id));
    if (stranger !== undefined) return `a patch for ${stranger}, which the device does not hold`;
    for (const id of patchedIds(page)) this.#keep(id, this.#patched(id, page));
    this.#token = page.token;
    if (!page.more) this.#finish();
    return null;
  }

  #forget(id: string): void {
    const held = this.#objects.get(id);
    if (held !== undefined) this.#checksum = subtractChecksums(this.#checksum, checksumOf(id, held));
    this.#objects.delete(id);
  }

  #keep(id: string, attributes: Attributes): void {
    this.#forget(id);
    this.#objects.set(id, attributes);
    this.#checksum = addChecksums(this.#checksum, checksumOf(id, attributes));
    this.#mentioned?.add(id);
  }

  #patched(id: string, page: DevicePage): Attributes {
    const attributes = { ...this.#objects.get(id), ...page.patch?.[id] };
    const dropped = new Set(page.drop?.[id]);
    return Object.fromEntries(Object.entries(attributes).filter(([name]) => !dropped.has(name)));
  }

  /** What no page has mentioned since the reset is gone. */
  #finish(): void {
    if (this.#mentioned === null) return;
    for (const id of this.#objects.keys()) {
      if (!this.#mentioned.has(id)) this.#forget(id);
    }
    this.#mentioned = null;
  }
}

function patchedIds(page: DevicePage): string[] {
  return [...new Set([...Object.keys(page.patch ?? {}), ...Object.keys(page.drop ?? {})])];
}

/** Every id a page speaks of. */
export function idsMentioned(page: DevicePage): string[] {
  return [...(page.delete ?? []), ...Object.keys(page.put ?? {}), ...patchedIds(page)];
}
