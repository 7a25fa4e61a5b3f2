import { type Adapter, AdapterRefusal, type Adapters } from '@tidemark/core';
import type { JsonValue } from '@tidemark/protocol';

/** Attributes of one object, by name. */
export type Attributes = Readonly<Record<string, JsonValue>>;

type Answer<T> = T | Promise<T>;

/** Some of the attributes. */
type Some<A> = string extends keyof A ? A : Partial<A>;

/** A change of a device, with the names that calls to a backend have. */
export interface TestBackendCall {
  readonly source: string;
  readonly user_id: string;
  /** The group, when the data is a group's. */
  readonly group?: string;
  readonly op_id: string;
  readonly id: string;
}

/**
 * What the backend of a source does, with the names of `@tidemark/backend`, whose handlers fit. An error named `Rejected` or
 * `Conflict` refuses a change for good; after any other error the device sends it again. Without a function, every change is
 * accepted.
 */
export interface TestBackend<A = Attributes> {
  /** Returns all objects of the user, the group, or all. Absent: the objects are those that were pushed. */
  query?(call: {
    readonly source: string;
    readonly user_id: string | null;
    readonly group?: string;
  }): Answer<Readonly<Record<string, A>>>;
  /** Returns the id that the backend gives the object; the device then uses that one. */
  create?(call: TestBackendCall & { readonly attributes: A }): Answer<{ readonly id: string | number }>;
  update?(
    call: TestBackendCall & { readonly attributes: Some<A>; readonly removed: readonly string[] },
  ): Answer<unknown>;
  delete?(call: TestBackendCall): Answer<unknown>;
}

/** Refuses a change for good: the device takes it back and shows the reason. */
export function rejected(reason: string): Error {
  return new AdapterRefusal('rejected', reason);
}

/** Refuses a change because somebody else has changed the object meanwhile. */
export function conflict(reason: string): Error {
  return new AdapterRefusal('conflict', reason);
}

/** Connects sources to their backends. */
export function adaptersOf(backends: ReadonlyMap<string, TestBackend>): Adapters {
  const of = (source: string): TestBackend => backends.get(source) ?? {};
  const adapter: Adapter = {
    async query({ source, user, partition }) {
      const call = { source, user_id: user, ...groupOf(partition) };
      return { objects: (await of(source).query?.(call)) ?? {} };
    },
    async create({ source, user, partition, opId, id, attributes }) {
      const call = {
        source,
        user_id: user,
        op_id: opId,
        id,
        attributes: attributes as Attributes,
        ...groupOf(partition),
      };
      const made = await verdictOf(() => of(source).create?.(call));
      return String(made?.id ?? id);
    },
    async update({ source, user, partition, opId, id, attributes, removed }) {
      const call = { source, user_id: user, op_id: opId, id, attributes: attributes as Attributes, removed };
      await verdictOf(() => of(source).update?.({ ...call, ...groupOf(partition) }));
    },
    async delete({ source, user, partition, opId, id }) {
      const call = { source, user_id: user, op_id: opId, id, ...groupOf(partition) };
      await verdictOf(() => of(source).delete?.(call));
    },
  };
  return { find: () => adapter };
}

function groupOf(group: string | undefined): { readonly group?: string } {
  return group === undefined ? {} : { group };
}

/** Handlers of `@tidemark/backend` throw errors of its own classes. */
async function verdictOf<T>(work: () => Answer<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { name, message } = error as Error;
    if (name === 'Rejected') throw rejected(message);
    throw name === 'Conflict' ? conflict(message) : error;
  }
}
