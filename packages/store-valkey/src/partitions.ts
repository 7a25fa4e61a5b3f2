import type { PartitionState } from '@tidemark/core/ports';
import { textOf } from './reply.ts';
import type { Reply } from './wire.ts';

/** Where only the registry knows the epoch. */
const UNKNOWN_EPOCH = '?';

/** Reads "epoch word era head floor size checksum past"; `epochOf` is asked when the place cannot know it. */
export async function stateFrom(reply: Reply | undefined, epochOf: () => Promise<string>): Promise<PartitionState> {
  const [epoch = '', word = '', era = '', head, floor, size, checksum, past = ''] = textOf(reply).split(' ');
  if (word === '-') {
    return { epoch: epoch === UNKNOWN_EPOCH ? await epochOf() : epoch, head: 0, floor: 0, size: 0, checksum: 0 };
  }
  const life = epoch + word;
  return {
    epoch: life + era,
    head: Number(head),
    floor: Number(floor),
    size: Number(size),
    checksum: Number(checksum),
    ...(past === '' ? {} : { earlier: past.split(',').map((text) => earlierFrom(life, text)) }),
  };
}

function earlierFrom(life: string, text: string): { readonly epoch: string; readonly upTo: number } {
  const [era = '', upTo] = text.split(':');
  return { epoch: life + era, upTo: Number(upTo) };
}
