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

/** Each attempt fails only when an erasure, a reset or a loss of the store came in between, or clocks do not agree. */
const ATTEMPTS_MAX = 20;

/** What a place says when it refuses a ticket: the moment by its own clock, and the version of its fence. */
interface Refused {
  readonly atUs: string;
  readonly fence: string;
}

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
    let refused: Refused | null = null;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const reply = await this.#attempt(write, refused);
      const kind = textOf(reply[0]);
      if (kind === 'sealed') throw sealed();
      if (kind === 'gone') return { gone: this.#guardOf(write.guards, reply) };
      if (kind === 'lost') await beginLife(this.#link, this.#layout);
      else if (kind === 'doomed') await this.carryOut(reply.slice(1).map((field) => textOf(field)));
      else if (kind === 'stale') refused = { atUs: textOf(reply[1]), fence: textOf(reply[2]) };
      else return { gone: null, reply };
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

  /**
   * After a refusal the ticket has the moment that its place has told: the registry was asked after it, so the ticket is
   * no older than that by the clock of the place, whatever the clock of the registry says.
   */
  async #attempt(write: PlaceWrite, refused: Refused | null): Promise<readonly Reply[]> {
    const { place, script, guards, args, client = null } = write;
    const admission = [...guardArgs(guards), ...listArgs(doomsOf(place, client)), ...memberArgs(place, client)];
    if (this.#link.isOneNode) {
      return listOf(await this.#link.write(script, this.#keys(write), [...admission, ...args]));
    }
    const asked = [refused?.fence ?? '0', ...admission];
    const reply = listOf(await this.#link.write(admitScript, this.#layout.registry, asked));
    if (textOf(reply[0]) !== 'admitted') return reply;
    const [, version = '', atUs = '', epoch = '', erased = ''] = reply.map((word) => textOf(word));
    this.#epoch = epoch;
    const ticket = [version, refused?.atUs ?? atUs, epoch, erased];
    return listOf(await this.#link.write(script, this.#keys(write), [...ticket, ...args]));
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
