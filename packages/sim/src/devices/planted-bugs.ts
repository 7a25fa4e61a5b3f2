import { randomBytes } from 'node:crypto';
import type { Table } from '@tidemark/client';
import type { PushRequest } from '@tidemark/protocol';
import type { Corrupt } from '../faults/fault-proxy.ts';
import type { Plant } from './environment.ts';

/** A bug in the network or in a device. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug {
  readonly name: string;
  /** Returns a new plant for each history, because it may keep state. */
  readonly plant: () => Plant;
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
    name: 'a value is changed in transit',
    plant: onPush((push) => ({
      ...push,
      changes: push.changes.map((upload) =>
        upload.op === 'update' ? { ...upload, attributes: { ...upload.attributes, n: -1 } } : upload,
      ),
    })),
  },
  { name: 'a store loses an upload when the process dies', plant: losing('uploads') },
  { name: 'the page of an event leaves out the change before it', plant: skippingAChange },
  { name: 'a store loses an object when the process dies', plant: losing('objects') },
];

/** An event says that its page begins where the page before it began, so a device one change behind applies it. */
function skippingAChange(): Plant {
  const last = new Map<string, string>();
  return {
    event: (change) => {
      if (!('page' in change)) return change;
      const from = last.get(change.source) ?? change.from;
      last.set(change.source, change.from);
      return { ...change, from };
    },
  };
}

/** Removes one row of a table before the device starts again. */
function losing(table: Table): () => Plant {
  return () => ({ damage: (rows) => rows.filter((row) => row !== rows.find((other) => other.table === table)) });
}

/** Changes pushes; `isFirst` is true when nothing in the push was sent before. */
function onPush(change: (push: PushRequest, isFirst: boolean) => PushRequest): () => Plant {
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
