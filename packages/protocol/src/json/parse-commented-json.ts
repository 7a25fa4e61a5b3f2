import { parseJson } from './parse-json.ts';

/** The text is not JSON; the message says where. */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
}

/** A string, a comment, or a trailing comma. Strings are matched so that their content is not taken for a comment. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*[}\]])/g;

/** Parses JSON with comments and trailing commas. */
export function parseCommentedJson(text: string): unknown {
  const plain = text.replace(/^\uFEFF/, ' ').replace(TOKENS, (token) => (token.startsWith('"') ? token : blank(token)));
  try {
    return parseJson(plain) as unknown;
  } catch (error) {
    throw new JsonProblem(placed(error instanceof Error ? error.message : String(error), plain));
  }
}

/** Keeps the number of characters and lines, so that positions in the text stay the same. */
function blank(token: string): string {
  return token.replaceAll(/[^\n]/g, ' ');
}

/** Replaces the message of the parser, which quotes the text and may reveal a secret. */
function placed(message: string, text: string): string {
  const position = /at position ([0-9]+)/.exec(message)?.[1];
  const lines = text.slice(0, position === undefined ? mistakeAt(text) : Number(position)).split('\n');
  return `is not JSON: there is a mistake at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/**
 * Finds the position if the message does not name it: a prefix of the text is only incomplete before the mistake, and
 * wrong after it.
 */
function mistakeAt(text: string): number {
  let unfinished = 0;
  let wrong = text.length + 1;
  while (wrong - unfinished > 1) {
    const middle = Math.floor((unfinished + wrong) / 2);
    if (isUnfinished(text.slice(0, middle))) unfinished = middle;
    else wrong = middle;
  }
  return unfinished;
}

function isUnfinished(text: string): boolean {
  try {
    parseJson(text);
    return true;
  } catch (error) {
    return error instanceof Error && /^(?:Unexpected end|Unterminated)/.test(error.message);
  }
}
