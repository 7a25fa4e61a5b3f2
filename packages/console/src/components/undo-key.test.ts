import { expect, it } from 'vitest';
import { isUndoKey } from './undo-key.ts';

it('[CONSOLE-60] Ctrl+Z and Cmd+Z undo, also with Caps Lock; with Shift, without either, and other keys do not', () => {
  const NOTHING_HELD = { ctrlKey: false, metaKey: false, shiftKey: false };
  const isUndo = (key: string, held: Partial<typeof NOTHING_HELD>) => isUndoKey({ key, ...NOTHING_HELD, ...held });
  expect([isUndo('z', { ctrlKey: true }), isUndo('z', { metaKey: true }), isUndo('Z', { ctrlKey: true })]).toEqual([
    ...[true, true, true],
  ]);
  expect([
    isUndo('Z', { ctrlKey: true, shiftKey: true }),
    isUndo('z', { ctrlKey: true, shiftKey: true }),
    isUndo('z', {}),
    isUndo('y', { ctrlKey: true }),
  ]).toEqual([false, false, false, false]);
});
