import { parseJson } from '@tidemark/protocol';
/** Why a text is not JSON, and where. */
export class JsonProblem extends Error {
  override readonly name = 'JsonProblem';
}

/** A string, a comment, or a comma that nothing follows. Whatever is in a string is never taken for a comment. */
const TOKENS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n]*\n|\/\*[\s\S]*?\*\/)*[}\]])/g;

/** JSON in which comments and a comma after the last member are allowed. */
export function parseCommentedJson(text: string): unknown {
  const plain = text.replace(/^\uFEFF/, ' ').replace(TOKENS, (token) => (token.startsWith('"') ? token : blank(token)));
  try {
    return parseJson(plain) as unknown;
  } catch (error) {
    throw new JsonProblem(placed(error instanceof Error ? error.message : String(error), plain));
  }
}

/** As many characters and lines as before, so that places in the text stay what they are. */
function blank(token: string): string {
  return token.replaceAll(/[^\n]/g, ' ');
}

/** The parser's own words are left out: they quote the text, which may be a secret. */
function placed(message: string, text: string): string {
  const position = /at position ([0-9]+)/.exec(message)?.[1];
  const lines = text.slice(0, position === undefined ? mistakeAt(text) : Number(position)).split('\n');
  return `is not JSON: there is a mistake at line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
}

/** Not every message says where. The beginning of a text is merely unfinished up to the mistake, and wrong after it. */
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
