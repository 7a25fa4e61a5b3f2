import type { Guard } from '@tidemark/core/ports';
import { carryOut } from './erase.ts';
import { beginLife, storeEpoch } from './facts.ts';
import { sealed, unavailable } from './failure.ts';
import { doomsOf, guardArgs, memberArgs } from './guards.ts';
import type { Place } from './keys.ts';
import type { Layout, PlaceKeys } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { listOf, numberOf, textOf } from './reply.ts';
import { admitScript } from './scripts/admission.ts';
import type { PlaceScript } from './scripts/script.ts';
import type { Argument, Reply } from './wire.ts';

export interface PlaceRead {
  readonly place: Place;
  readonly script: PlaceScript;
  /** The key that the script takes beside those every place has. */
  readonly more?: (keys: PlaceKeys) => string;
  readonly args: readonly Argument[];
  /** Whose traces at the place are concerned. Where they are written, they are found by it again. */
  readonly client?: string;
}

export interface PlaceWrite extends PlaceRead {
  readonly guards: readonly Guard[];
}

export type Written = { readonly gone: Guard } | { readonly gone: null; readonly reply: readonly Reply[] };

/** Each attempt fails only when an erasure, a reset or a loss of the store came in between. */
const ATTEMPTS_MAX = 20;

/**
 * Reading and writing at a place. Where the registry lies on the same node, one script looks at both. In a cluster a
 * write first gets a ticket from the registry, which its place refuses when something was erased meanwhile; a read
 * compares the life of the place with the one it believes in.
 */
export class Places {
  readonly #link: Link;
  readonly #layout: Layout;
  /** In a cluster: the epoch as last seen. */
  #epoch = '';

  constructor(link: Link, layout: Layout) {
    this.#link = link;
    this.#layout = layout;
  }

  async read(read: PlaceRead): Promise<readonly Reply[]> {
    let believed = this.#epoch;
    let isSure = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const reply = listOf(await this.#link.run(read.script, this.#keys(read), this.#readArgs(read, believed, isSure)));
      const kind = textOf(reply[0]);
      if (kind === 'lost') await beginLife(this.#link, this.#layout);
      else if (kind === 'other') {
        believed = await this.epoch();
        isSure = true;
      } else return reply;
    }
    throw unavailable('its life kept changing');
  }

  /** Also carries out what must be erased first. */
  async write(write: PlaceWrite): Promise<Written> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const reply = await this.#attempt(write);
      const kind = textOf(reply[0]);
      if (kind === 'sealed') throw sealed();
      if (kind === 'gone') return { gone: this.#guardOf(write.guards, reply) };
      if (kind === 'lost') await beginLife(this.#link, this.#layout);
      else if (kind === 'doomed') await this.carryOut(reply.slice(1).map((field) => textOf(field)));
      else if (kind !== 'stale') return { gone: null, reply };
    }
    throw unavailable('erasures kept coming in between');
  }

  async carryOut(dooms: readonly string[]): Promise<void> {
    for (const doom of dooms) await carryOut(this.#link, this.#layout, doom);
  }

  async epoch(): Promise<string> {
    this.#epoch = await storeEpoch(this.#link, this.#layout);
    return this.#epoch;
  }

  async #attempt(write: PlaceWrite): Promise<readonly Reply[]> {
    const { place, script, guards, args, client = null } = write;
    const admission = [...guardArgs(guards), ...listArgs(doomsOf(place, client)), ...memberArgs(place, client)];
    if (this.#link.isOneNode) {
      return listOf(await this.#link.write(script, this.#keys(write), [...admission, ...args]));
    }
    const [kind, ...ticket] = listOf(await this.#link.write(admitScript, this.#layout.registry, admission));
    if (textOf(kind) !== 'admitted') return [kind ?? null, ...ticket];
    this.#epoch = textOf(ticket[2]);
    return listOf(await this.#link.write(script, this.#keys(write), [...ticket.map((word) => textOf(word)), ...args]));
  }

  #readArgs({ place, args, client }: PlaceRead, believed: string, isSure: boolean): readonly Argument[] {
    const reading = this.#link.isOneNode ? listArgs(doomsOf(place, client)) : [believed, isSure ? '1' : ''];
    return [...reading, ...args];
  }

  #keys({ place, script, more }: PlaceRead): readonly string[] {
    const own = this.#layout.place(place);
    const registry = this.#link.isOneNode ? script.registry.map((name) => this.#layout.registryKey(name)) : [];
    return [...own.some(script.keys), ...(more === undefined ? [] : [more(own)]), ...registry];
  }

  #guardOf(guards: readonly Guard[], reply: readonly Reply[]): Guard {
    const guard = guards[numberOf(reply[1]) - 1];
    if (guard === undefined) throw new Error('a script named a guard that was not given');
    return guard;
  }
}
