import { describe, expect, it } from 'vitest';
import { ModelDevice, WrongPage } from './device.ts';
import type { PageRead } from './page.ts';

describe('the model of a device', () => {
  it('deletes objects that no page mentioned when it has started over', () => {
    const device = new ModelDevice();
    receive(device, { token: '1', more: false, reset: true, put: { a: { n: 1 }, b: { n: 1 } } });
    device.startOver();
    receive(device, { token: '2', more: true, reset: true, put: { b: { n: 2 } } });
    expect([...device.objects.keys()]).toEqual(['a', 'b']);
    receive(device, { token: '3', more: false, put: { c: { n: 3 } } });
    expect([...device.objects.keys()]).toEqual(['b', 'c']);
  });

  it('patches and drops attributes of objects it holds, and refuses a patch of any other', () => {
    const device = new ModelDevice();
    receive(device, { token: '1', more: false, reset: true, put: { a: { n: 1, constructor: 2 } } });
    receive(device, { token: '2', more: false, patch: { a: { m: null } }, drop: { a: ['n'] } });
    expect([...(device.objects.get('a')?.attributes ?? [])]).toEqual([
      ['constructor', '2'],
      ['m', 'null'],
    ]);
    expect(() => receive(device, { token: '3', more: false, patch: { z: { m: 1 } } })).toThrow(WrongPage);
  });

  it('ignores an answer to a token it does not hold', () => {
    const device = new ModelDevice();
    receive(device, { token: '1', more: false, reset: true, put: { a: { n: 1 } } });
    const page: PageRead = { token: '9', more: false, delete: ['a'], size: 0, checksum: 0 };
    expect(device.receive({ asked: null, page, generation: '1' })).toBe(false);
    expect([device.token, device.objects.size]).toEqual(['1', 1]);
  });
});

function receive(device: ModelDevice, page: Omit<PageRead, 'size'>): void {
  device.receive({ asked: device.token, page: { size: 0, ...page }, generation: '1' });
}
