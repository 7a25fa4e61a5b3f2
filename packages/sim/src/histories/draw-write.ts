import type { Dice } from '@tidemark/testing/kit';
import type { Place } from './place.ts';
import type { Pools } from './pools.ts';
import type { Attributes, ObjectsGiven, PlannedWrite } from './step.ts';

export interface Drawer {
  readonly dice: Dice;
  readonly pools: Pools;
}

const OBJECTS_MAX = 4;
const KINDS: readonly PlannedWrite['kind'][] = [
  'push_objects',
  'push_objects',
  'push_objects',
  'push_deletes',
  'push_deletes',
  'fast_insert',
  'fast_update',
  'fast_update',
  'fast_delete',
  'replace',
];

export function drawWrite(drawer: Drawer, place: Place): PlannedWrite {
  const { dice, pools } = drawer;
  const kind = dice.pick(KINDS);
  switch (kind) {
    case 'push_objects':
    case 'fast_insert':
      return { kind, place, objects: drawObjects(drawer, place) };
    case 'push_deletes':
      return { kind, place, ids: pools.ids(OBJECTS_MAX) };
    case 'fast_update': {
      const asStored = dice.chance(40) ? pools.ids(2) : [];
      return { kind, place, deleteData: drawObjects(drawer, place), data: drawObjects(drawer, place), asStored };
    }
    case 'fast_delete':
      return { kind, place, data: drawObjects(drawer, place), asStored: dice.chance(50) ? pools.ids(2) : [] };
    case 'replace':
      return drawReplace(drawer, place);
  }
}

function drawReplace(drawer: Drawer, place: Place): PlannedWrite {
  const { dice, pools } = drawer;
  return {
    kind: 'replace',
    place,
    query: dice.chance(80) ? dice.below(100) : null,
    without: dice.chance(50) ? pools.ids(2) : [],
    objects: dice.chance(70) ? drawObjects(drawer, place) : {},
  };
}

/** Racing with the end of a life, a refresh could not say which life its query began in. */
export function drawRacingWrite(drawer: Drawer, place: Place): PlannedWrite {
  const write = drawWrite(drawer, place);
  return write.kind === 'replace' ? { ...write, query: null } : write;
}

export function drawObjects(drawer: Drawer, place: Place): ObjectsGiven {
  const ids = drawer.pools.ids(drawer.dice.chance(60) ? 1 : OBJECTS_MAX);
  return Object.fromEntries(ids.map((id) => [id, drawAttributes(drawer, place)]));
}

function drawAttributes({ dice, pools }: Drawer, place: Place): Attributes {
  const names = pools.attributes(dice.chance(8) ? 0 : 1);
  return Object.fromEntries(names.map((name) => [name, pools.value(place)]));
}

/** Each of these refuses the call it stands in. */
const ILLEGAL: readonly (() => ObjectsGiven)[] = [
  () => ({ '*': { name: 1 } }),
  () => ({ '': { name: 1 } }),
  () => ({ 'bell\u0007': { name: 1 } }),
  () => ({ 'half\ud800': { name: 1 } }),
  () => ({ fine: { '': 1 } }),
  () => ({ fine: { '*': 1 } }),
  () => ({ ['y'.repeat(513)]: { name: 1 } }),
  () => JSON.parse('{"fine": {"name": {"__proto__": 1}}}'),
  () => JSON.parse('{"__proto__": {"name": 1}}'),
  () => JSON.parse(`{"fine": {"name": ${'['.repeat(40)}${']'.repeat(40)}}}`),
];

/** A push that must be refused, whatever else is in it. */
export function drawBadWrite(drawer: Drawer, place: Place): Extract<PlannedWrite, { kind: 'push_objects' }> {
  const illegal = drawer.dice.pick(ILLEGAL)();
  const objects: Record<string, Attributes> = { ...drawObjects(drawer, place) };
  for (const [id, attributes] of Object.entries(illegal)) {
    Object.defineProperty(objects, id, { value: attributes, enumerable: true, configurable: true, writable: true });
  }
  return { kind: 'push_objects', place, objects };
}
