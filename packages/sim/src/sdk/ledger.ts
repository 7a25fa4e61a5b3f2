import { demand } from '../runner/violation.ts';
import { attributeOf, isOfDevice, type Objects, type Owner } from './step.ts';

/** A change that an app made and its device stored. */
interface MadeWrite {
  readonly device: number;
  readonly owner: Owner;
  /** The id of the object that was updated; null: a new object, whose id the backend may choose. */
  readonly id: string | null;
  /** Undefined: its attribute was removed. */
  readonly value: string | undefined;
  /** True: it need not reach the server, for example because the device was wiped before it was sent. */
  isOptional: boolean;
  /** True: the device has begun a new life since. What it had sent before may wait for the backend, and be applied late. */
  mayBeLate: boolean;
}

/** What apps have written, and where it must be in the end. Each device writes an attribute of its own. */
export class Ledger {
  readonly #writes: MadeWrite[] = [];
  #next = 1;

  nextValue(): string {
    return `w${this.#next++}`;
  }

  add(write: Omit<MadeWrite, 'isOptional' | 'mayBeLate'>): void {
    this.#writes.push({ ...write, isOptional: false, mayBeLate: false });
  }

  /** The changes of a device may be lost from now on, because somebody else uses it or nobody. */
  excuseDevice(device: number): void {
    for (const write of this.#writes) {
      if (write.device !== device) continue;
      write.isOptional = true;
      write.mayBeLate = true;
    }
  }

  /** The server has refused a change. */
  excuse(device: number, source: string, id: string, value: unknown): void {
    for (const write of this.#writes) {
      if (write.device !== device || write.owner.source !== source) continue;
      if (write.value === value || write.id === id) write.isOptional = true;
    }
  }

  /** Checks that every change reached the owner it was made for, exactly once, and nothing else did. */
  async check(owners: readonly Owner[], read: (owner: Owner) => Promise<Objects>): Promise<void> {
    for (const owner of owners) {
      const objects = await read(owner);
      const writes = this.#writes.filter((write) => isSame(write.owner, owner));
      this.#checkCreated(owner, objects, writes);
      this.#checkUpdated(owner, objects, writes);
    }
  }

  #checkCreated(owner: Owner, objects: Objects, writes: readonly MadeWrite[]): void {
    const made = [...objects.values()].flatMap((attributes) => attributes.made ?? []);
    for (const { id, value, isOptional } of writes) {
      if (id !== null) continue;
      const count = made.filter((other) => other === value).length;
      const isRight = count === 1 || (isOptional && count === 0);
      demand(isRight, 'SIM-18', () => `the object ${value} is ${count} times in ${ownerText(owner)}`);
    }
    const known = new Set<unknown>(writes.map(({ value }) => value));
    for (const value of made) demand(known.has(value), 'SIM-18', () => `${value} is in ${ownerText(owner)}`);
  }

  #checkUpdated(owner: Owner, objects: Objects, writes: readonly MadeWrite[]): void {
    const allowed = allowedValues(writes);
    for (const [id, attributes] of objects) {
      for (const name of Object.keys(attributes).filter(isOfDevice)) {
        const key = JSON.stringify([id, name]);
        if (!allowed.has(key)) allowed.set(key, new Set([undefined]));
      }
    }
    for (const [key, values] of allowed) {
      const [id = '', name = ''] = JSON.parse(key) as readonly string[];
      const actual = objects.get(id)?.[name];
      demand(values.has(actual), 'SIM-18', () => {
        return `${name} of ${id} in ${ownerText(owner)} is ${actual}, should be ${[...values].join(' or ')}`;
      });
    }
  }
}

/** The values that each attribute may have in the end, by object and attribute. */
function allowedValues(writes: readonly MadeWrite[]): Map<string, Set<unknown>> {
  const allowed = new Map<string, Set<unknown>>();
  const updates = writes.filter(({ id }) => id !== null);
  const keyOf = ({ device, id }: MadeWrite) => JSON.stringify([id, attributeOf(device)]);
  for (const write of updates) {
    const before = write.isOptional ? (allowed.get(keyOf(write)) ?? new Set([undefined])) : new Set<unknown>();
    allowed.set(keyOf(write), before.add(write.value));
  }
  for (const write of updates) if (write.mayBeLate) allowed.get(keyOf(write))?.add(write.value);
  return allowed;
}

function isSame(left: Owner, right: Owner): boolean {
  return left.source === right.source && left.group === right.group && left.user === right.user;
}

export function ownerText({ source, group, user }: Owner): string {
  return `${source} of ${group ?? user}`;
}
