import { collectingLog } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { CoreEvents } from './core-events.ts';
import { sharedPartition } from './ports/owner.ts';

const EVENT = { partition: sharedPartition('Product'), cause: 'push' } as const;

it('[EVENT-64] a listener that fails keeps no other from hearing, and one that has ended hears nothing', () => {
  const events = new CoreEvents(collectingLog());
  const heard: string[] = [];
  events.on('committed', () => {
    throw new Error('broken');
  });
  const end = events.on('committed', () => heard.push('first'));
  events.on('committed', () => heard.push('second'));
  events.on('acknowledged', () => heard.push('of another event'));
  events.emit('committed', EVENT);
  end();
  events.emit('committed', EVENT);
  expect(heard).toEqual(['first', 'second', 'second']);
});
