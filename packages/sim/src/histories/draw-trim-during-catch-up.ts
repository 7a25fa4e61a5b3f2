import type { PartitionKey } from '@tidemark/core';
import type { Attributes } from '../model/write.ts';
import { type Drawer, drawWrite } from './draw-write.ts';
import type { Action, PageSize, PlannedWrite } from './step.ts';

/**
 * Draws a sequence that random steps alone produce too rarely: a device that had everything falls behind, is half-way
 * through catching up when the journal is trimmed between its base and its cursor, and gets an object that lost an
 * attribute before the trim and changed again after it.
 */
export function drawTrimDuringCatchUp(drawer: Drawer, device: number, partition: PartitionKey): Action[] {
  const { dice, values } = drawer;
  const ids = values.ids(4);
  const write = (planned: PlannedWrite): Action => ({ kind: 'write', write: planned });
  const pull = (sizes: readonly PageSize[]): Action => ({ kind: 'pull', device, sizes });
  const objects = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((id) => [id, attributes(drawer, partition)]));
  return [
    write({ kind: 'push_objects', partition, objects: objects(ids) }),
    pull(Array.from({ length: 12 }, () => ({ objectsMax: 5 }))),
    // The stored attributes are removed and others are set, so the objects stay.
    ...dice.shuffle(ids).map((id) => {
      return write({ kind: 'fast_update', partition, deleteData: {}, data: objects([id]), asStored: [id] });
    }),
    ...Array.from({ length: dice.below(3) }, () => write(drawWrite(drawer, partition))),
    pull([{ objectsMax: dice.between(1, 3) }]),
    { kind: 'force_trim', partition, part: dice.between(3, 9) / 10 },
    write({ kind: 'push_objects', partition, objects: objects(dice.shuffle(ids).slice(0, 2)) }),
    pull([{ objectsMax: dice.between(1, 5) }]),
  ];
}

function attributes({ values }: Drawer, partition: PartitionKey): Attributes {
  return Object.fromEntries(values.attributes(1).map((name) => [name, values.value(partition)]));
}
