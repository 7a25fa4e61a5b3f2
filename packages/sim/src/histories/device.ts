import { canonicalJson, type JsonValue } from '@tidemark/protocol';
import type { OracleObject } from './oracle-write.ts';
import type { PageRead } from './read-page.ts';
import { demand } from './violation.ts';

/** An answer as it comes out of the network. */
export interface DeliveredPage {
  /** The token the device asked with. */
  readonly asked: string | null;
  readonly page: PageRead;
  /** Not on the wire: the life of the partition in which the page was made, so that checks know what to compare with. */
  readonly life: string;
}

export interface HeldObject {
  readonly attributes: OracleObject;
  readonly life: string;
}

/** Everything a device keeps, as one value: it is what a backup of the device would hold. */
export interface DeviceCopy {
  readonly token: string | null;
  readonly objects: ReadonlyMap<string, HeldObject>;
  /** The ids mentioned since the last reset; null when nothing is being started over. */
  readonly mentioned: ReadonlySet<string> | null;
}

const EMPTY: DeviceCopy = { token: null, objects: new Map(), mentioned: null };

/**
 * A device that does exactly what the protocol asks of one, and no more: it applies a page in one step, keeps the new
 * token, and ignores every answer that does not belong to the token it holds.
 */
export class Device {
  #state: DeviceCopy = EMPTY;

  get token(): string | null {
    return this.#state.token;
  }

  get objects(): ReadonlyMap<string, HeldObject> {
    return this.#state.objects;
  }

  copy(): DeviceCopy {
    return this.#state;
  }

  restore(copy: DeviceCopy): void {
    this.#state = copy;
  }

  /** Loses everything. */
  reinstall(): void {
    this.#state = EMPTY;
  }

  /** Asks for everything again and keeps what it has until it is told otherwise. */
  startOver(): void {
    this.#state = { ...this.#state, token: null };
  }

  damageToken(token: string): void {
    this.#state = { ...this.#state, token };
  }

  /** Whether the page was applied. */
  receive(delivered: DeliveredPage): boolean {
    if (delivered.asked !== this.#state.token) return false;
    this.#state = applied(this.#state, delivered);
    return true;
  }
}

function applied(state: DeviceCopy, { page, life }: DeliveredPage): DeviceCopy {
  const objects = new Map(state.objects);
  const mentioned = page.reset ? new Set<string>() : state.mentioned && new Set(state.mentioned);
  for (const id of page.delete ?? []) objects.delete(id);
  for (const [id, given] of Object.entries(page.put ?? {})) {
    objects.set(id, { attributes: withAttributes(new Map(), given), life });
    mentioned?.add(id);
  }
  for (const id of new Set([...Object.keys(page.patch ?? {}), ...Object.keys(page.drop ?? {})])) {
    objects.set(id, { attributes: patched(objects, id, page, life), life });
    mentioned?.add(id);
  }
  if (page.more || mentioned === null) return { token: page.token, objects, mentioned };
  for (const id of objects.keys()) if (!mentioned.has(id)) objects.delete(id);
  return { token: page.token, objects, mentioned: null };
}

function patched(objects: ReadonlyMap<string, HeldObject>, id: string, page: PageRead, life: string): OracleObject {
  const held = objects.get(id);
  demand(held !== undefined, 'SIM-6', () => `a patch for ${JSON.stringify(id)}, which the device does not hold`);
  demand(
    held.life === life,
    'SIM-6',
    () => `a patch for ${JSON.stringify(id)}, which the device holds from another life`,
  );
  const patch = page.patch && Object.hasOwn(page.patch, id) ? page.patch[id] : undefined;
  const drop = page.drop && Object.hasOwn(page.drop, id) ? page.drop[id] : undefined;
  const attributes = withAttributes(held.attributes, patch ?? {});
  // An attribute that came and went since the last complete catch-up is dropped from a device that never had it.
  for (const name of drop ?? []) attributes.delete(name);
  return attributes;
}

function withAttributes(object: OracleObject, given: Readonly<Record<string, JsonValue>>): Map<string, string> {
  const result = new Map(object);
  for (const [name, value] of Object.entries(given)) result.set(name, canonicalJson(value));
  return result;
}
