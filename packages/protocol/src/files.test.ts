import { describe, expect, it } from 'vitest';
import { fileFlawIn, fileReferencesIn, fileReferencesInText, isFileReference, readFileReference } from './files.ts';

const sha256 = 'a1'.repeat(32);
const good = { sha256, size: 3, type: 'image/jpeg' };
const flawOf = (file: unknown) => fileFlawIn({ $file: file });

describe('references to files', () => {
  it('[FILES-1] a reference has a SHA-256, a size, a media type and perhaps a name', () => {
    for (const file of [
      good,
      { ...good, name: 'Kücheninsel (2).jpg' },
      { ...good, size: 0, type: 'text/plain;charset=utf-8' },
    ]) {
      expect(isFileReference({ $file: file })).toBe(true);
      expect(readFileReference({ $file: file })).toEqual(file);
      expect(flawOf(file)).toBeNull();
    }
  });

  it('[FILES-1] a reference is refused for each part that is wrong, and the flaw says where', () => {
    const wrong: readonly (readonly [file: unknown, path: readonly string[]])[] = [
      [null, ['$file']],
      ['x', ['$file']],
      [[good], ['$file']],
      [{ ...good, sha256: sha256.toUpperCase() }, ['$file', 'sha256']],
      [{ ...good, sha256: `${sha256}0` }, ['$file', 'sha256']],
      [{ size: 3, type: 'image/jpeg' }, ['$file', 'sha256']],
      [{ ...good, size: -1 }, ['$file', 'size']],
      [{ ...good, size: 1.5 }, ['$file', 'size']],
      [{ ...good, size: '3' }, ['$file', 'size']],
      [{ ...good, type: 'jpeg' }, ['$file', 'type']],
      [{ ...good, type: 'image/jpeg\r\nx: y' }, ['$file', 'type']],
      [{ ...good, name: '' }, ['$file', 'name']],
      [{ ...good, name: 'a/b' }, ['$file', 'name']],
      [{ ...good, name: 'a\\b' }, ['$file', 'name']],
      [{ ...good, name: 'a\nb' }, ['$file', 'name']],
      [{ ...good, url: 'x' }, ['$file', 'url']],
    ];
    for (const [file, path] of wrong) {
      expect([file, flawOf(file)?.path]).toEqual([file, path]);
      expect(readFileReference({ $file: file })).toBeNull();
    }
    expect(fileFlawIn({ $file: good, note: 1 })).toEqual({ path: ['note'], detail: 'cannot stand beside $file' });
    expect(fileFlawIn([{ a: [1, { $file: 7 }] }])?.path).toEqual([0, 'a', 1, '$file']);
  });

  it('[FILES-1] the longest name and media type are allowed, and one byte more is not', () => {
    expect(flawOf({ ...good, name: `${'é'.repeat(127)}x` })).toBeNull();
    expect(flawOf({ ...good, name: 'é'.repeat(128) })?.path).toEqual(['$file', 'name']);
    expect(flawOf({ ...good, type: `a/${'b'.repeat(125)}` })).toBeNull();
    expect(flawOf({ ...good, type: `a/${'b'.repeat(126)}` })?.path).toEqual(['$file', 'type']);
  });

  it('[FILES-1] all references in a value are found, however deep', () => {
    const other = { ...good, sha256: 'b2'.repeat(32) };
    const value = [{ $file: good }, { list: [{ deeper: { $file: other } }] }, 'text', null];
    expect([...fileReferencesIn(value)]).toEqual([good, other]);
    expect(fileReferencesInText(JSON.stringify({ photos: value, $file: 'an attribute of that name' }))).toEqual([
      good,
      other,
    ]);
    expect(fileReferencesInText(JSON.stringify({ text: 'the key "$file": in a text' }))).toEqual([]);
  });
});
