import { DEFAULT_LIMITS, FILES_PER_OBJECT_MAX, Refusal } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { WITHOUT_PAUSE } from '../primitives/work-budget.ts';
import { admitContent } from './admit-document.ts';
import { admitAttributes, admitObjects } from './admit-objects.ts';

const file = { sha256: 'a1'.repeat(32), size: 3, type: 'image/jpeg' };
const limits = { ...DEFAULT_LIMITS };

function refusalOf(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('references to files in objects', () => {
  it('[FILES-2] a malformed reference refuses the write and names the wrong part, whole or attribute by attribute', () => {
    const bad = { o1: { title: 'x', photos: [{ $file: file }, { $file: { ...file, size: -1 } }] } };
    // The second object has its members in another order, so it is taken attribute by attribute.
    const unordered = {
      o1: { photos: [{ $file: file }, { $file: { type: 'image/jpeg', size: -1, sha256: file.sha256 } }] },
    };
    for (const objects of [bad, unordered]) {
      const { code, flaws } = refusalOf(() => admitObjects(objects, limits, 'objects'));
      expect([code, flaws?.[0]?.pointer]).toEqual(['invalid_value', '/objects/o1/photos/1/$file/size']);
    }
    expect(admitAttributes({ photo: { $file: file } }, limits, ['attributes']).text).toBe(
      JSON.stringify({ photo: { $file: file } }),
    );
  });

  it('[FILES-2] an attribute may be called $file, because only values refer to files', () => {
    expect(admitAttributes({ $file: 'plain' }, limits, ['attributes']).text).toBe('{"$file":"plain"}');
  });

  it('[FILES-3] an object refers to FILES_PER_OBJECT_MAX files at most', () => {
    const photos = (count: number) => ({ o1: { photos: Array.from({ length: count }, () => ({ $file: file })) } });
    expect(admitObjects(photos(FILES_PER_OBJECT_MAX), limits, 'objects').size).toBe(1);
    const { code } = refusalOf(() => admitObjects(photos(FILES_PER_OBJECT_MAX + 1), limits, 'objects'));
    expect(code).toBe('limit_exceeded');
  });

  it('[FILES-4] a named document cannot refer to files', async () => {
    const content = { data: { photo: { $file: file } } };
    await expect(admitContent(content, limits, WITHOUT_PAUSE)).rejects.toMatchObject({ code: 'invalid_value' });
  });
});
