import { refusalOf, settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { UPLOAD_IDLE_MS } from '../limits.ts';
import { UploadLocks } from './upload-locks.ts';

it('[FILES-41] of two calls that wait for a connection that is gone, one takes the upload over and the other is refused', async () => {
  const clock = settableClock();
  const locks = new UploadLocks(clock.nowMs);
  const gone = locks.run('id', ({ signal }) => {
    return new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('cut off')));
  });
  clock.advance(UPLOAD_IDLE_MS);
  let end = () => {};
  const second = locks.run('id', () => {
    return new Promise<string>((resolve) => {
      end = () => resolve('took over');
    });
  });
  const third = locks.run('id', async () => 'took over as well');
  expect(await refusalOf(third)).toBe('upload_locked');
  end();
  expect(await Promise.all([gone, second])).toEqual(['cut off', 'took over']);
  expect(await locks.run('id', async () => 'free again')).toBe('free again');
});
