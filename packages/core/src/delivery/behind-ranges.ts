import { pointer, Refusal } from '@tidemark/protocol';
import type { PartitionState } from '../ports/store.ts';

/** Tidemarks of one epoch that acknowledge at least `from` and less than `below`. */
export interface BehindRange {
  readonly epoch: string;
  readonly from: number;
  readonly below: number;
}

/** Above every seq, and within what all engines can index. */
const SEQ_END = 2 ** 47;

/**
 * The ranges of tidemarks that have not acknowledged `seq`. A tidemark of an earlier epoch counts up to the seq at which
 * that epoch ended. Beyond it the device holds changes that were lost, so it starts over and has acknowledged nothing.
 */
export function behindRanges({ epoch, earlier = [] }: PartitionState, seq: number): readonly BehindRange[] {
  return [
    ...earlier.flatMap(({ epoch: before, upTo }) => [
      { epoch: before, from: 0, below: Math.min(seq, upTo + 1) },
      { epoch: before, from: upTo + 1, below: SEQ_END },
    ]),
    { epoch, from: 0, below: seq },
  ];
}

/** The last device of a page. */
export interface BehindCursor {
  readonly range: number;
  readonly base: number | null;
  readonly client: string;
}

export function writeCursor({ range, base, client }: BehindCursor): string {
  return `${range}.${base ?? ''}.${client}`;
}

/** Null: the list begins. */
export function readCursor(text: string | null | undefined): BehindCursor | null {
  if (text === undefined || text === null) return null;
  const [, range, base, client] = /^(\d{1,3})\.(\d{0,15})\.([\s\S]+)$/.exec(text) ?? [];
  if (range !== undefined && base !== undefined && client !== undefined) {
    return { range: Number(range), base: base === '' ? null : Number(base), client };
  }
  const detail = 'must be the `next` of the previous page';
  throw new Refusal('invalid_request', `after ${detail}`, [{ pointer: pointer('after'), detail }]);
}
