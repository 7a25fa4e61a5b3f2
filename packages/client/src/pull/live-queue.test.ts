import type { LiveChange } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { LIVE_PAGES_WAITING_MAX } from '../limits.ts';
import { LiveQueue } from './live-queue.ts';

/** A change from one token to the next, for example `1>2`. */
function change(name: string): LiveChange {
  const [from = '', token = ''] = name.split('>');
  return { source: 'Order', from, page: { token, more: false, size: 0 } };
}

/** Returns the changes that a device applies which holds `token`, and whether it would have to pull. */
function followed(token: string, ...names: readonly string[]): { readonly applied: string[]; readonly pulls: boolean } {
  const queue = new LiveQueue();
  for (const name of names) queue.add(change(name));
  const applied: string[] = [];
  let held = token;
  for (let next = queue.next(held); next !== undefined; next = queue.next(held)) {
    applied.push(`${next.from}>${next.page.token}`);
    held = next.page.token;
  }
  return { applied, pulls: !queue.isEmpty };
}

describe('pages of events that wait', () => {
  it('[SDK-19] pages are applied along their tokens, in whatever order they came', () => {
    const inOrder = { applied: ['1>2', '2>3', '3>4'], pulls: false };
    expect(followed('1', '1>2', '2>3', '3>4')).toEqual(inOrder);
    expect(followed('1', '3>4', '1>2', '2>3')).toEqual(inOrder);
    expect(followed('1', '1>2', '1>2', '2>3', '2>3', '3>4')).toEqual(inOrder);
  });

  it('[SDK-19] pages that led to the state of the device are dropped, and need no pull', () => {
    expect(followed('3', '1>2', '2>3', '3>4')).toEqual({ applied: ['3>4'], pulls: false });
    expect(followed('4', '2>3', '1>2', '3>4')).toEqual({ applied: [], pulls: false });
  });

  it('[SDK-19] a page that neither begins nor leads to where the device is needs a pull', () => {
    expect(followed('1', '2>3')).toEqual({ applied: [], pulls: true });
    expect(followed('1', '1>2', '3>4')).toEqual({ applied: ['1>2'], pulls: true });
    expect(followed('9', '1>2')).toEqual({ applied: [], pulls: true });
  });

  it('[SDK-19] beyond the limit the oldest page is dropped, so that the source is pulled', () => {
    const names = Array.from({ length: LIVE_PAGES_WAITING_MAX + 1 }, (_, index) => `${index}>${index + 1}`);
    expect(followed('0', ...names.slice(0, -1)).applied).toHaveLength(LIVE_PAGES_WAITING_MAX);
    expect(followed('0', ...names)).toEqual({ applied: [], pulls: true });
  });
});
