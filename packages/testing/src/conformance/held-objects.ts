import { addChecksums, canonicalJson, type JsonValue, objectChecksum, type Page } from '@tidemark/protocol';

type Attributes = Readonly<Record<string, JsonValue>>;

/** The objects of one source on a device. It applies pages as docs/reference/sync-protocol.md describes. */
export class HeldObjects {
  readonly objects = new Map<string, Attributes>();
  token: string | null = null;
  #mentioned: Set<string> | null = null;

  /** Throws when the page does not fit the objects, or when size and checksum differ afterwards. */
  apply(page: Page): void {
    if (page.reset) this.#mentioned = new Set();
    for (const id of page.delete ?? []) this.objects.delete(id);
    for (const [id, object] of Object.entries(page.put ?? {})) this.#hold(id, object as Attributes);
    for (const [id, names] of Object.entries(page.drop ?? {})) this.#hold(id, without(this.#held(id), names));
    for (const [id, patch] of Object.entries(page.patch ?? {})) {
      this.#hold(id, { ...this.#held(id), ...(patch as Attributes) });
    }
    this.token = page.token;
    if (!page.more) this.#finish(page);
  }

  #hold(id: string, object: Attributes): void {
    this.objects.set(id, object);
    this.#mentioned?.add(id);
  }

  #held(id: string): Attributes {
    const object = this.objects.get(id);
    if (object === undefined) throw new Error(`a change of ${JSON.stringify(id)}, which the device does not hold`);
    return object;
  }

  #finish({ size, checksum }: Page): void {
    const mentioned = this.#mentioned;
    this.#mentioned = null;
    for (const id of this.objects.keys()) if (mentioned?.has(id) === false) this.objects.delete(id);
    const held = { size: this.objects.size, checksum: this.#checksum() };
    if (held.size !== size || held.checksum !== checksum) {
      throw new Error(`the device holds ${JSON.stringify(held)}, the server ${JSON.stringify({ size, checksum })}`);
    }
  }

  #checksum(): number {
    let sum = 0;
    for (const [id, object] of this.objects) {
      const texts = Object.entries(object).map(([name, value]) => [name, canonicalJson(value)] as const);
      sum = addChecksums(sum, objectChecksum(id, texts));
    }
    return sum;
  }
}

function without(object: Attributes, names: readonly string[]): Attributes {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
