import { type Adapter, AdapterRefusal, type ObjectsAnswer, type PersonalCall } from '@tidemark/core';
import { type JsonValue, nameProblem, Refusal } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../jobs/timers.ts';
import type { Attributes, SourceDefinition } from './define-source.ts';

export interface ModuleTimes {
  readonly timeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly timers?: Timers;
}

/** A source module behind the same port as a backend: bounded in time, and no more trusted than one. */
export function moduleAdapter(definition: SourceDefinition, times: ModuleTimes): Adapter {
  const { timeoutMs, queryTimeoutMs } = times;
  const { search, partition: partitionOf } = definition;
  const within = <T>(ms: number, work: () => T | Promise<T>) => endingIn(ms, times.timers ?? systemTimers, work);
  const objects = async (ms: number, work: () => unknown): Promise<ObjectsAnswer> => ({
    objects: await within(ms, work),
  });
  return {
    query: ({ user, partition = null }) => objects(queryTimeoutMs, () => definition.query({ user, partition })),
    async create({ user, partition = null, opId, id, attributes }) {
      const create = known(definition.create, 'created');
      const given = await within(timeoutMs, () =>
        create({ user, partition, op_id: opId, id, attributes: attributes as Attributes }),
      );
      if (typeof given === 'string' && nameProblem('object', given) === null) return given;
      throw new Refusal('backend_error', 'create must answer the id of the object');
    },
    async update({ user, partition = null, opId, id, attributes }) {
      const update = known(definition.update, 'updated');
      await within(timeoutMs, () => update({ user, partition, op_id: opId, id, attributes: attributes as Attributes }));
    },
    async delete({ user, partition = null, opId, id }) {
      const remove = known(definition.delete, 'deleted');
      await within(timeoutMs, () => remove({ user, partition, op_id: opId, id }));
    },
    ...(search === undefined
      ? {}
      : {
          search: ({ user, partition, params }: PersonalCall & { readonly params: JsonValue }) =>
            objects(timeoutMs, () => search({ user, partition: partition ?? null, params })),
        }),
    ...(partitionOf === undefined
      ? {}
      : {
          partition: ({ user }: { readonly user: string }) =>
            within<string | null>(timeoutMs, async () => partitionOf(user)),
        }),
  };
}

function known<T>(operation: T | undefined, what: string): T {
  if (operation !== undefined) return operation;
  throw new AdapterRefusal('rejected', `objects of this source cannot be ${what}`);
}

/** What comes later is nobody's any more. */
async function endingIn<T>(ms: number, timers: Timers, work: () => T | Promise<T>): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    const refusal = new Refusal('backend_timeout', `the source module did not answer in ${ms} ms`);
    cancel = timers.after(ms, () => reject(refusal));
  });
  try {
    return await Promise.race([Promise.resolve().then(work), late]);
  } finally {
    cancel();
  }
}
