import { numberIn, personIn } from './ledger.ts';
import type { AboutObject } from './model-device.ts';
import { type Space, spaceKey } from './step.ts';
import type { World } from './world.ts';

interface Seen {
  /** The step in which the object was first seen, without a gap since. */
  readonly since: number;
  /** The newest number of each attribute. */
  readonly numbers: ReadonlyMap<string, number>;
}

/** Looks at md after every step: whose it is, and that no attribute becomes older. */
export class MdWatch {
  readonly #world: World;
  readonly #seen = new Map<string, Map<string, Seen>>();
  /** Epoch and head of the partitions when they were last looked at. */
  readonly #heads = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  async look(): Promise<void> {
    for (const space of this.#world.spaces) await this.#lookAt(space);
    for (const device of this.#world.devices) {
      for (const rejected of device.dependent.splice(0)) this.#checkDependent(rejected);
      for (const applied of device.applied.splice(0)) this.#checkApplied(`d${device.index}`, applied);
    }
  }

  #checkDependent({ space, id, upload }: AboutObject): void {
    const since = this.#seen.get(spaceKey(space))?.get(id)?.since;
    this.#world.ledger.demand(since === undefined || since >= upload.step, 'UPSIM-4', () => {
      const { op_id: opId } = upload.upload;
      return `${opId} was rejected for want of ${spaceKey(space)} ${id}, which has been there since step ${since}`;
    });
  }

  /** What is told as applied is in md, or something newer is, unless the office has something else by now. */
  #checkApplied(attribute: string, { space, id, upload }: AboutObject): void {
    const { ledger, office } = this.#world;
    const inOffice = numberIn(office.objects(space).get(id)?.[attribute]);
    if (inOffice === null || upload.person !== ledger.personOf(upload.user)) return;
    const inMd = this.#seen.get(spaceKey(space))?.get(id)?.numbers.get(attribute) ?? 0;
    ledger.demand(inMd >= Math.min(upload.number, inOffice), 'UPSIM-5', () => {
      return `${upload.upload.op_id} (number ${upload.number}) was told as applied, and md has number ${inMd} of ${id}`;
    });
  }

  async #lookAt(space: Space): Promise<void> {
    const { ledger, observer } = this.#world;
    const { epoch, head } = await observer.tidemark.store.partition(space);
    if (this.#heads.get(spaceKey(space)) === `${epoch} ${head}`) return;
    this.#heads.set(spaceKey(space), `${epoch} ${head}`);
    const before = this.#seen.get(spaceKey(space)) ?? new Map<string, Seen>();
    const now = new Map<string, Seen>();
    for (const [id, attributes] of await objectsOf(this.#world, space)) {
      const numbers = new Map<string, number>();
      for (const [name, value] of Object.entries(attributes)) {
        const person = personIn(value);
        const isOwn = person === null || space.user === null || person === ledger.personOf(space.user);
        ledger.demand(isOwn, 'UPSIM-3', () => `md of ${spaceKey(space)} has ${id} with ${name} of ${person}`);
        const number = numberIn(value) ?? 0;
        const last = before.get(id)?.numbers.get(name) ?? 0;
        ledger.demand(number >= last, 'UPSIM-2', () => {
          return `${name} of ${spaceKey(space)} ${id} went back from number ${last} to ${number}`;
        });
        numbers.set(name, number);
      }
      now.set(id, { since: before.get(id)?.since ?? ledger.step, numbers });
    }
    this.#seen.set(spaceKey(space), now);
  }
}

export async function objectsOf(
  { observer }: World,
  { source, user }: Space,
): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
  return observer.tidemark.readObjects({ source, ...(user === null ? {} : { user_id: user }) });
}
