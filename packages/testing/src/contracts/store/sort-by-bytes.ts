/** Texts in the order of their UTF-8 bytes, worked out the slow way: by comparing hexadecimal digits. */
export function sortByBytes(texts: Iterable<string>): string[] {
  return [...texts]
    .map((text) => ({ text, digits: Buffer.from(text).toString('hex') }))
    .sort((left, right) => (left.digits < right.digits ? -1 : 1))
    .map(({ text }) => text);
}
