import { type Drawer, drawWrite } from './draw-write.ts';
import type { Place } from './place.ts';
import type { Attributes, Deed, PageSize, PlannedWrite } from './step.ts';

/**
 * The narrowest place of the protocol, which chance alone finds too rarely: a device that had everything falls behind,
 * is half-way through catching up when the journal is trimmed behind its cursor but above its base, and meets an
 * object that lost an attribute before the trim and changed again after it.
 */
export function drawSqueeze(drawer: Drawer, device: number, place: Place): Deed[] {
  const { dice, pools } = drawer;
  const ids = pools.ids(4);
  const write = (planned: PlannedWrite): Deed => ({ kind: 'write', write: planned });
  const pull = (sizes: readonly PageSize[]): Deed => ({ kind: 'pull', device, sizes });
  const objects = (chosen: readonly string[]) =>
    Object.fromEntries(chosen.map((id) => [id, attributes(drawer, place)]));
  return [
    write({ kind: 'push_objects', place, objects: objects(ids) }),
    pull(Array.from({ length: 12 }, () => ({ objectsMax: 5 }))),
    // What is stored goes, then something is set: attributes are removed from objects that live on.
    ...dice.shuffle(ids).map((id) => {
      return write({ kind: 'fast_update', place, deleteData: {}, data: objects([id]), asStored: [id] });
    }),
    ...Array.from({ length: dice.below(3) }, () => write(drawWrite(drawer, place))),
    pull([{ objectsMax: dice.between(1, 3) }]),
    { kind: 'brutal_trim', place, part: dice.between(3, 9) / 10 },
    write({ kind: 'push_objects', place, objects: objects(dice.shuffle(ids).slice(0, 2)) }),
    pull([{ objectsMax: dice.between(1, 5) }]),
  ];
}

function attributes({ pools }: Drawer, place: Place): Attributes {
  return Object.fromEntries(pools.attributes(1).map((name) => [name, pools.value(place)]));
}
