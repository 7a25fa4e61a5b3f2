import { type Adapter, type AdapterCall, AdapterRefusal, type ObjectsAnswer } from '@tidemark/core';
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
  const { search } = definition;
  const within = <T>(ms: number, work: () => T | Promise<T>) => endingIn(ms, times.timers ?? systemTimers, work);
  const objects = async (ms: number, work: () => unknown): Promise<ObjectsAnswer> => ({
    objects: await within(ms, work),
  });
  return {
    query: ({ user }) => objects(queryTimeoutMs, () => definition.query({ user })),
    async create({ user, opId, id, attributes }) {
      const create = known(definition.create, 'created');
      const given = await within(timeoutMs, () =>
        create({ user, op_id: opId, id, attributes: attributes as Attributes }),
      );
      if (typeof given === 'string' && nameProblem('object', given) === null) return given;
      throw new Refusal('backend_error', 'create must answer the id of the object');
    },
    async update({ user, opId, id, attributes }) {
      const update = known(definition.update, 'updated');
      await within(timeoutMs, () => update({ user, op_id: opId, id, attributes: attributes as Attributes }));
    },
    async delete({ user, opId, id }) {
      const remove = known(definition.delete, 'deleted');
      await within(timeoutMs, () => remove({ user, op_id: opId, id }));
    },
    ...(search === undefined
      ? {}
      : {
          search: ({ user, params }: AdapterCall & { readonly params: JsonValue }) =>
            objects(timeoutMs, () => search({ user, params })),
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
