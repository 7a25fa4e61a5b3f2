import { expect, it } from 'vitest';
import { BUNDLES, sizeOf } from './sizes.mjs';

it.each(BUNDLES)(
  '[SIZE-1] $name is within its bound, minified and compressed, and brings no other package',
  async (bundle) => {
    const { brotli, later, imports } = await sizeOf(bundle);
    expect(brotli).toBeLessThanOrEqual(bundle.bytesMax);
    expect(later).toBeLessThanOrEqual(bundle.laterBytesMax);
    expect(imports.filter((name) => !bundle.external.some((pattern) => pattern.test(name)))).toEqual([]);
    // A bundle of nothing would keep every bound.
    expect(brotli).toBeGreaterThan(bundle.bytesMax / 10);
  },
);
