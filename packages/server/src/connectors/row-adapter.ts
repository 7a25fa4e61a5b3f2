import { Conflict, Rejected } from '@tidemark/backend';
import { type Adapter, AdapterRefusal, type UploadCall } from '@tidemark/core';
import type { RowBackend, RowCall } from '@tidemark/postgres';

/** Makes what devices change in the database of a connector. `open` is called at the first change. */
export function rowAdapter(open: () => Promise<RowBackend>): Adapter {
  const write = async (call: RowCall): Promise<string> => {
    const rows = await open();
    try {
      return await rows.write(call);
    } catch (error) {
      if (error instanceof Conflict) throw new AdapterRefusal('conflict', error.message);
      if (error instanceof Rejected) throw new AdapterRefusal('rejected', error.message);
      throw error;
    }
  };
  return {
    // Rows come by the stream alone.
    query: async () => ({ isUnchanged: true }),
    create: (call) => write({ op: 'create', ...callOf(call), attributes: call.attributes } as RowCall),
    update: async (call) => {
      const { attributes, removed, seen } = call;
      await write({
        op: 'update',
        ...callOf(call),
        attributes,
        removed,
        ...(seen === undefined ? {} : { seen }),
      } as RowCall);
      return { isPushed: true };
    },
    delete: async (call) => {
      const { seen } = call;
      await write({ op: 'delete', ...callOf(call), ...(seen === undefined ? {} : { seen }) } as RowCall);
      return { isPushed: true };
    },
  };
}

function callOf({ source, user, partition, opId, id }: UploadCall) {
  return { source, user_id: user, ...(partition === undefined ? {} : { group: partition }), op_id: opId, id };
}
