import { expect, it } from 'vitest';
import { requireAsSeen } from './require-as-seen.ts';

const difference = [
  { name: 'seats', before: 4, after: 5 },
  { name: 'crew', before: { a: 1, b: 2 }, after: undefined },
  { name: 'sails', before: undefined, after: 2 },
];
const SEEN = { seats: 4, crew: { b: 2, a: 1 }, name: 'Ada' };

it('[CONSOLE-120] a change is saved to an object that is as it was seen, whatever else has changed, or that has the change already', () => {
  const edit = { id: '7', isNew: false, difference };
  requireAsSeen(SEEN, edit);
  requireAsSeen({ ...SEEN, name: 'Bo' }, edit);
  requireAsSeen({ ...SEEN, seats: 5, sails: 2 }, edit);
  expect(() => requireAsSeen(null, edit)).toThrow('somebody has deleted it');
  expect(() => requireAsSeen({ ...SEEN, seats: 6 }, edit)).toThrow('“seats” is not what you saw any more');
  expect(() => requireAsSeen({ ...SEEN, sails: 1 }, edit)).toThrow('“sails” is not what you saw any more');
  expect(() => requireAsSeen({ seats: 4 }, { ...edit, difference: [{ name: 'crew', before: 1, after: 2 }] })).toThrow(
    '“crew” is not what you saw any more',
  );
});

it('[CONSOLE-121] an object is new only if there is none of its id', () => {
  const edit = { id: '7', isNew: true, difference: [] };
  requireAsSeen(null, edit);
  expect(() => requireAsSeen({}, edit)).toThrow('There is an object “7” already');
});
