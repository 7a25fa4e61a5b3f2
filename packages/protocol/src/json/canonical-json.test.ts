import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical-json.ts';

describe('canonical JSON', () => {
  it('[VALUE-1] sorts keys at every depth and leaves everything else as it is', () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }], a: 'x', 10: true, 9: 0.1 })).toBe(
      '{"10":true,"9":0.1,"a":"x","b":[{"a":null,"z":1}]}',
    );
    for (const value of [null, true, 0, -1.5, '', 'line\nfeed', [], {}, 1e21, 5e-324]) {
      expect(canonicalJson(value)).toBe(JSON.stringify(value));
    }
  });
});
