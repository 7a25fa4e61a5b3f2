const LINE_FEED = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Removes the marks behind line feeds (`record.ts`) from records joined by commas. Returns the same bytes when there are
 * none, so that a first sync does not read single objects.
 *
 * It scans bytes by itself: the parser of request bodies (`incremental-json-parse.ts` of the server) builds values, and the
 * scanner of the protocol reads strings, which these records would first have to be decoded to.
 */
export function wholeMembers(joined: Uint8Array): Uint8Array {
  let marksAt = joined.indexOf(LINE_FEED);
  if (marksAt === -1) return joined;
  const members = new Uint8Array(joined.length);
  let length = 0;
  let from = 0;
  while (marksAt !== -1) {
    members.set(joined.subarray(from, marksAt), length);
    length += marksAt - from;
    from = endOfMarks(joined, marksAt + 1);
    marksAt = joined.indexOf(LINE_FEED, from);
  }
  members.set(joined.subarray(from), length);
  return members.subarray(0, length + joined.length - from);
}

/** Returns the index behind the JSON array that starts at `start`. */
function endOfMarks(text: Uint8Array, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    const byte = text[index];
    if (byte === QUOTE) index = endOfString(text, index) - 1;
    else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) depth++;
    else if ((byte === CLOSE_BRACKET || byte === CLOSE_BRACE) && --depth === 0) return index + 1;
  }
  throw new Error('the marks of a record do not end');
}

/** Returns the index behind the JSON string that starts at `start`. */
function endOfString(text: Uint8Array, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    if (text[index] === BACKSLASH) index++;
    else if (text[index] === QUOTE) return index + 1;
  }
  throw new Error('a JSON string does not end');
}
