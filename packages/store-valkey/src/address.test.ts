import { describe, expect, it } from 'vitest';
import { readAddress, shownAddress } from './address.ts';

const open = { username: null, password: null, isEncrypted: false, database: 0 };

describe('addresses', () => {
  it('[VALKEY-14] an address can name one server', () => {
    const node = { host: 'db', port: 6379 };
    expect(readAddress('valkey://db')).toEqual({ kind: 'single', node, access: open });
    expect(readAddress('redis://db:7000/3')).toEqual({
      kind: 'single',
      node: { host: 'db', port: 7000 },
      access: { ...open, database: 3 },
    });
    expect(readAddress('valkeys://[::1]:1')).toEqual({
      kind: 'single',
      node: { host: '::1', port: 1 },
      access: { ...open, isEncrypted: true },
    });
    expect(readAddress('rediss://ann:p%40ss@db')).toEqual({
      kind: 'single',
      node,
      access: { ...open, username: 'ann', password: 'p@ss', isEncrypted: true },
    });
  });

  it('[VALKEY-14] an address can name a cluster or sentinels', () => {
    const nodes = [
      { host: 'a', port: 7000 },
      { host: 'b', port: 6379 },
    ];
    expect(readAddress('valkey+cluster://a:7000,b')).toEqual({ kind: 'cluster', nodes, access: open });
    expect(readAddress('redis+sentinel://a,b:1/main')).toEqual({
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 1 },
      ],
      name: 'main',
      access: open,
      sentinelAccess: { username: null, password: null },
    });
  });

  it.each([
    ...['', 'db', 'http://db', 'valkey://', 'valkey://a,b', 'valkey://db:0', 'valkey://db:70000', 'valkey://db/x'],
    ...['valkey+cluster://a/1', 'valkey+sentinel://a', 'valkey+ring://a', 'valkey://%zz@db', 'valkey://a b'],
  ])('[VALKEY-14] %j is not an address', (text) => {
    expect(readAddress(text)).toBeNull();
  });

  it('[VALKEY-14] an address is shown without login and password', () => {
    expect(shownAddress('valkey://ann:secret@db:1')).toBe('valkey://***@db:1');
    expect(shownAddress('valkey://db:1')).toBe('valkey://db:1');
  });
});
