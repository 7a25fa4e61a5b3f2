type Key = Readonly<Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey'>>;

/** Whether a key undoes: also with Caps Lock, but not with Shift, by which other programs do again what was undone. */
export function isUndoKey({ key, ctrlKey, metaKey, shiftKey }: Key): boolean {
  return key.toLowerCase() === 'z' && (ctrlKey || metaKey) && !shiftKey;
}
