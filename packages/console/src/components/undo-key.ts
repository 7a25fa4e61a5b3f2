interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

/** Whether a key undoes: also with Caps Lock, but not with Shift, by which other programs do again what was undone. */
export function isUndoKey({ key, ctrlKey, metaKey, shiftKey }: Key): boolean {
  return key.toLowerCase() === 'z' && (ctrlKey || metaKey) && !shiftKey;
}
