import { randomBytes } from 'node:crypto';
import type { Table } from '@tidemark/client';
import type { PushRequest } from '@tidemark/protocol';
import type { Corrupt, Flaws } from './stage.ts';

/** Something wrong with the network or a device. A simulation that does not notice is not worth running. */
export interface PlantedBug {
  readonly name: string;
  /** A new one for each history, since it may remember. */
  readonly plant: () => Flaws;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'an upload that is sent again has another op_id',
    plant: onPush((push, isFirst) => {
      if (isFirst) return push;
      return {
        ...push,
        changes: push.changes.map((upload) => ({ ...upload, op_id: randomBytes(16).toString('hex') })),
      };
    }),
  },
  {
    name: 'a value is changed on its way',
    plant: onPush((push) => ({
      ...push,
      changes: push.changes.map((upload) =>
        upload.op === 'update' ? { ...upload, attributes: { ...upload.attributes, n: -1 } } : upload,
      ),
    })),
  },
  { name: 'a store loses an upload when the process dies', plant: losing('uploads') },
  { name: 'a store loses an object when the process dies', plant: losing('objects') },
];

/** One row of a table is gone when the device comes up again. */
function losing(table: Table): () => Flaws {
  return () => ({ damage: (rows) => rows.filter((row) => row !== rows.find((other) => other.table === table)) });
}

/** `isFirst`: whether nothing in the push was sent before. */
function onPush(change: (push: PushRequest, isFirst: boolean) => PushRequest): () => Flaws {
  return () => {
    const seen = new Set<string>();
    const corrupt: Corrupt = (path, body) => {
      if (path !== '/sync/v1/push') return body;
      const push = JSON.parse(body.toString()) as PushRequest;
      const isFirst = !push.changes.some(({ op_id: opId }) => seen.has(opId));
      for (const { op_id: opId } of push.changes) seen.add(opId);
      return Buffer.from(JSON.stringify(change(push, isFirst)));
    };
    return { corrupt };
  };
}
