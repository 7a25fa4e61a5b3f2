import { utf8Bytes } from '@tidemark/protocol';

export interface FittedMessage {
  readonly body: string;
  /** Says to which length the message was shortened; absent if it was not. */
  readonly note?: string;
}

const ELLIPSIS = '…';
const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/**
 * Returns the payload with as much of the message as the service accepts, cut between graphemes and marked with an
 * ellipsis. Returns null if it is too large even without a message.
 */
export function fitMessage(
  message: string | undefined,
  bytesMax: number,
  write: (message: string | undefined) => string,
): FittedMessage | null {
  const whole = write(message);
  if (utf8Bytes(whole) <= bytesMax) return { body: whole };
  if (message === undefined) return null;
  const characters = [...graphemes.segment(message)];
  const shortened = (count: number) => message.slice(0, characters[count]?.index ?? message.length) + ELLIPSIS;
  const fits = (count: number) => utf8Bytes(write(shortened(count))) <= bytesMax;
  if (!fits(1)) return null;
  let enough = 1;
  let tooMany = characters.length;
  while (tooMany - enough > 1) {
    const middle = Math.floor((enough + tooMany) / 2);
    if (fits(middle)) enough = middle;
    else tooMany = middle;
  }
  const note = `the message was shortened to ${enough} of ${characters.length} characters`;
  return { body: write(shortened(enough)), note };
}
