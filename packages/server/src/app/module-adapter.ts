import {
  type Adapter,
  AdapterRefusal,
  type Log,
  LoggedFailure,
  type ObjectsAnswer,
  type PersonalCall,
} from '@tidemark/core';
import { errorMessage, type JsonValue, nameProblem, Refusal } from '@tidemark/protocol';
import { systemTimers, type Timers } from '../jobs/timers.ts';
import type { Attributes } from './define-source.ts';
import type { LoadedSource } from './load-sources.ts';

export interface ModuleTimes {
  readonly timeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly timers?: Timers;
}

class ModuleTimeout extends Refusal {}

export interface ModuleAdapterParts extends ModuleTimes {
  readonly log: Log;
}

type Operation = 'query' | 'create' | 'update' | 'delete' | 'search' | 'partition' | 'groups';

/**
 * Calls a source module through the port of a backend: with a time-out, and with its results checked like those of a
 * backend.
 */
export function moduleAdapter({ name, definition }: LoadedSource, parts: ModuleAdapterParts): Adapter {
  const { timeoutMs, queryTimeoutMs, timers = systemTimers, log } = parts;
  const { search, partition: partitionOf, groups: groupsOf } = definition;
  const within = <T>(operation: Operation, work: () => T | Promise<T>): Promise<T> => {
    const ms = operation === 'query' ? queryTimeoutMs : timeoutMs;
    return withTimeout(ms, timers, work).catch((error: unknown) => {
      throw failureOf(error, log, { source: name, call: operation });
    });
  };
  const objects = async (operation: Operation, work: () => unknown): Promise<ObjectsAnswer> => ({
    objects: await within(operation, work),
  });
  return {
    waitsForFiles: true,
    query: ({ user, partition = null }) => objects('query', () => definition.query({ user, partition })),
    async create({ user, partition = null, opId, id, attributes }) {
      const create = known(definition.create, 'created');
      const given = await within('create', () =>
        create({ user, partition, op_id: opId, id, attributes: attributes as Attributes }),
      );
      if (typeof given === 'string' && nameProblem('object', given) === null) return given;
      throw new Refusal('backend_error', 'create must return the id of the object');
    },
    async update({ user, partition = null, opId, id, attributes, removed, seen }) {
      const update = known(definition.update, 'updated');
      const call = { user, partition, op_id: opId, id, attributes: attributes as Attributes, removed, ...seenOf(seen) };
      await within('update', () => update(call));
    },
    async delete({ user, partition = null, opId, id, seen }) {
      const remove = known(definition.delete, 'deleted');
      await within('delete', () => remove({ user, partition, op_id: opId, id, ...seenOf(seen) }));
    },
    ...(search === undefined
      ? {}
      : {
          search: ({ user, partition, params }: PersonalCall & { readonly params: JsonValue }) =>
            objects('search', () => search({ user, partition: partition ?? null, params })),
        }),
    ...(partitionOf === undefined
      ? {}
      : {
          partition: ({ user }: { readonly user: string }) =>
            within<string | null>('partition', async () => partitionOf(user)),
        }),
    ...(groupsOf === undefined
      ? {}
      : {
          groups: ({ user }: { readonly user: string }) =>
            within<readonly string[]>('groups', async () => groupsOf(user)),
        }),
  };
}

function seenOf(seen: JsonValue | undefined): { readonly seen?: Attributes } {
  return seen === undefined ? {} : { seen: seen as Attributes };
}

/** Any error but a refusal is a bug in the module: it is logged with its stack, and reported to others without it. */
function failureOf(error: unknown, log: Log, where: { readonly source: string; readonly call: Operation }): unknown {
  if (error instanceof AdapterRefusal) return error;
  const isTimeout = error instanceof ModuleTimeout;
  const reason = errorMessage(error);
  const stack = error instanceof Error && !isTimeout ? (error.stack ?? null) : null;
  log.error('source_module_failed', { ...where, reason, stack });
  return new LoggedFailure(isTimeout ? error : new Refusal('backend_error', 'the adapter of the source failed'));
}

function known<T>(operation: T | undefined, what: string): T {
  if (operation !== undefined) return operation;
  throw new AdapterRefusal('rejected', `objects of this source cannot be ${what}`);
}

/** Rejects when the work takes too long; its late result is ignored. */
async function withTimeout<T>(ms: number, timers: Timers, work: () => T | Promise<T>): Promise<T> {
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    const refusal = new ModuleTimeout('backend_timeout', `the source module did not answer in ${ms} ms`);
    cancel = timers.after(ms, () => reject(refusal));
  });
  try {
    return await Promise.race([Promise.resolve().then(work), late]);
  } finally {
    cancel();
  }
}
