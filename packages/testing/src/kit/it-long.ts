import { it } from 'vitest';
import { IS_LONG } from './is-long.ts';

/**
 * Registers a test that only the long run includes. It stands in a file with everyday tests when it shares their set-up; a file
 * without any is a `*.long.test.*`.
 */
export function itLong(title: string, test: () => Promise<void> | void): void {
  if (IS_LONG) it(title, test);
}
