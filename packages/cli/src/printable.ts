/** Escapes control characters, so that text from a server cannot move the cursor or change colours. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is control characters that are looked for.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}

/** Does the same and escapes line breaks. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
