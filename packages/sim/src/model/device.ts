import { type ModelObject, withAttributes } from './objects.ts';
import type { PageRead } from './page.ts';

/** A page as it arrives at a device. */
export interface DeliveredPage {
  /** The token that the device sent with its pull. */
  readonly asked: string | null;
  readonly page: PageRead;
  /** The generation of the partition in which the server made the page. It is not on the wire; only checks use it. */
  readonly generation: string;
}

export interface HeldObject {
  readonly attributes: ModelObject;
  readonly generation: string;
}

/** Everything that a device stores, as one value: what a backup of the device contains. */
export interface DeviceCopy {
  readonly token: string | null;
  readonly objects: ReadonlyMap<string, HeldObject>;
  /** The ids that pages named since the last reset; null: the device is not starting over. */
  readonly mentioned: ReadonlySet<string> | null;
}

/** A page that cannot be meant for the device that got it. */
export class WrongPage extends Error {
  override readonly name = 'WrongPage';
}

const EMPTY: DeviceCopy = { token: null, objects: new Map(), mentioned: null };

/**
 * The model of a device: it does what docs/reference/sync-protocol.md asks and no more. It applies a page in one step, stores the
 * new token, and ignores every answer to a token that it does not hold.
 */
export class ModelDevice {
  #state: DeviceCopy = EMPTY;

  get token(): string | null {
    return this.#state.token;
  }

  get objects(): ReadonlyMap<string, HeldObject> {
    return this.#state.objects;
  }

  get isStartingOver(): boolean {
    return this.#state.token === null || this.#state.mentioned !== null;
  }

  copy(): DeviceCopy {
    return this.#state;
  }

  restore(copy: DeviceCopy): void {
    this.#state = copy;
  }

  /** Deletes everything that the device stores. */
  reinstall(): void {
    this.#state = EMPTY;
  }

  /** Asks for everything again, and keeps its objects until a page deletes them. */
  startOver(): void {
    this.#state = { ...this.#state, token: null };
  }

  setToken(token: string): void {
    this.#state = { ...this.#state, token };
  }

  /** Returns true when the page was applied, false when it was ignored. Throws a `WrongPage`. */
  receive(delivered: DeliveredPage): boolean {
    if (delivered.asked !== this.#state.token) return false;
    this.#state = applied(this.#state, delivered);
    return true;
  }
}

function applied(state: DeviceCopy, { page, generation }: DeliveredPage): DeviceCopy {
  const objects = new Map(state.objects);
  const mentioned = page.reset ? new Set<string>() : state.mentioned && new Set(state.mentioned);
  for (const id of page.delete ?? []) objects.delete(id);
  for (const [id, given] of Object.entries(page.put ?? {})) {
    objects.set(id, { attributes: withAttributes(new Map(), given), generation });
    mentioned?.add(id);
  }
  for (const id of new Set([...Object.keys(page.patch ?? {}), ...Object.keys(page.drop ?? {})])) {
    objects.set(id, { attributes: patched(objects.get(id), id, page, generation), generation });
    mentioned?.add(id);
  }
  if (page.more || mentioned === null) return { token: page.token, objects, mentioned };
  for (const id of objects.keys()) if (!mentioned.has(id)) objects.delete(id);
  return { token: page.token, objects, mentioned: null };
}

function patched(held: HeldObject | undefined, id: string, page: PageRead, generation: string): ModelObject {
  const what = `a patch for ${JSON.stringify(id)}`;
  if (held === undefined) throw new WrongPage(`${what}, which the device does not hold`);
  if (held.generation !== generation) throw new WrongPage(`${what}, which the device holds from another generation`);
  const patch = page.patch && Object.hasOwn(page.patch, id) ? page.patch[id] : undefined;
  const drop = page.drop && Object.hasOwn(page.drop, id) ? page.drop[id] : undefined;
  const attributes = new Map(withAttributes(held.attributes, patch));
  // An attribute that came and went since the last complete catch-up is dropped from a device that never had it.
  for (const name of drop ?? []) attributes.delete(name);
  return attributes;
}
