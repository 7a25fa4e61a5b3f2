import { expect, it } from 'vitest';
import { filesInAttributes, filesOf, filesText, isPicture, shownFileName } from './file-facts.ts';

const HASH = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const file = (name?: string) => ({
  $file: { sha256: HASH, size: 3_100_000, type: 'image/jpeg', ...(name === undefined ? {} : { name }) },
});

it('[CONSOLE-153] a value that refers to files is shown by name and size, and any other value as it is', () => {
  const textOf = (value: unknown) => filesText(filesOf(value) ?? []);
  expect(textOf(file('bow.jpg'))).toBe('bow.jpg, 3.1 MB');
  expect(textOf(file())).toBe('e3b0c442…, 3.1 MB');
  expect(textOf([file('bow.jpg')])).toBe('bow.jpg, 3.1 MB');
  expect(textOf([file('bow.jpg'), file('stern.jpg'), file()])).toBe('bow.jpg and 2 more files');
  const others = [undefined, null, 7, 'text', [], {}, [file(), 7], { photo: file() }, { $file: { sha256: 'x' } }];
  expect(others.map(filesOf)).toEqual(others.map(() => null));
});

it('[CONSOLE-153] the files of an object are those in all its values, each once', () => {
  const other = { $file: { ...file().$file, sha256: 'f'.repeat(64) } };
  const found = filesInAttributes({ a: file('bow.jpg'), b: [{ c: other }], d: file('bow.jpg'), e: 'text' });
  expect(found.map(({ sha256 }) => sha256)).toEqual([HASH, 'f'.repeat(64)]);
});

it('[CONSOLE-151] only formats that browsers decode are pictures, and a file without a name goes by its hash', () => {
  expect(['image/jpeg', 'IMAGE/PNG', 'image/webp; q=1'].map(isPicture)).toEqual([true, true, true]);
  expect(['image/svg+xml', 'text/html', 'image/', '', null].map(isPicture)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
  expect([shownFileName({ sha256: HASH, name: null }), shownFileName({ sha256: HASH, name: 'a' })]).toEqual([
    ...['e3b0c442…', 'a'],
  ]);
});
