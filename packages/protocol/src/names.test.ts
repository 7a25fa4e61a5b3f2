import { describe, expect, it } from 'vitest';
import { NAME_BYTES_MAX, type NameKind, nameProblem, utf8Bytes } from './names.ts';

const KINDS = Object.keys(NAME_BYTES_MAX) as NameKind[];

describe('names', () => {
  it.each(KINDS)('[NAME-1] a %s name may be as long as its limit in bytes, and no longer', (kind) => {
    const max = NAME_BYTES_MAX[kind];
    expect(nameProblem(kind, '')).toBe('is empty');
    expect(nameProblem(kind, 'a'.repeat(max))).toBeNull();
    expect(nameProblem(kind, 'a'.repeat(max + 1))).toBe(`is longer than ${max} bytes`);
    const umlauts = Math.floor(max / 2);
    expect(nameProblem(kind, 'ä'.repeat(umlauts))).toBeNull();
    expect(nameProblem(kind, 'ä'.repeat(umlauts + 1))).toBe(`is longer than ${max} bytes`);
    expect(nameProblem(kind, '😀'.repeat(Math.floor(max / 4)))).toBeNull();
    expect(nameProblem(kind, '😀'.repeat(Math.floor(max / 4) + 1))).toBe(`is longer than ${max} bytes`);
  });

  it('[NAME-2] control characters and ill-formed Unicode are refused, wherever they stand', () => {
    for (const bad of ['\u0000', 'a\nb', '\u001f', '\u007f', 'a\u0085', '😀\u0007']) {
      expect(nameProblem('object', bad)).toBe('contains a control character');
    }
    for (const bad of ['\ud800', 'a\udc00', '\udc00\ud800', '😀\ud83d']) {
      expect(nameProblem('object', bad)).toBe('is not well-formed Unicode');
    }
  });

  it('[NAME-3] "*" and "__proto__" are never names, and "__shared__" is never a login', () => {
    for (const kind of KINDS) {
      expect(nameProblem(kind, '*')).toBe('is reserved');
      expect(nameProblem(kind, '__proto__')).toBe('is reserved');
      expect(nameProblem(kind, '__shared__')).toBe(kind === 'login' ? 'is reserved' : null);
    }
  });

  it('[NAME-7] "." and ".." are no names where names stand in URLs', () => {
    for (const kind of KINDS) {
      const isInPaths = ['login', 'source', 'group', 'document', 'client'].includes(kind);
      for (const name of ['.', '..']) expect(nameProblem(kind, name)).toBe(isInPaths ? 'cannot stand in a URL' : null);
      for (const name of ['...', '.a', 'a.', '../a']) expect(nameProblem(kind, name)).toBeNull();
    }
  });

  it('[NAME-4] everything else is an ordinary name', () => {
    const ordinary = [
      'a*b',
      '?',
      '[a]',
      'a:b',
      '/',
      ' ',
      'constructor',
      'toString',
      'hasOwnProperty',
      'id',
      '😀',
      'é',
      '0',
    ];
    for (const kind of KINDS) for (const name of ordinary) expect(nameProblem(kind, name)).toBeNull();
  });

  it('[NAME-1] counts bytes as UTF-8 does', () => {
    for (const text of ['', 'a', 'ä', '€', '😀', 'a😀ä€z']) expect(utf8Bytes(text)).toBe(Buffer.byteLength(text));
  });
});
