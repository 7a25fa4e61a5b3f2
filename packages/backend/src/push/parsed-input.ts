import { parseJson } from '@tidemark/protocol';
import { TidemarkError } from '../client/tidemark-error.ts';

/** A part of the input as a value. The parser's own words are left out: they repeat parts of the data. */
export function parsedInput(text: string, place: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new TidemarkError('invalid_input', `${place} is not JSON`);
  }
}
