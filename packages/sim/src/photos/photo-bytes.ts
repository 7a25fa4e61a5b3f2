/** Fills the bytes of a photo. It stands alone, because its text runs in the page as well. */
export function photoBytes(number: number, size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  const words = new Uint32Array(bytes.buffer, 0, Math.floor(size / 4));
  // A linear congruential generator: it repeats after more words than any photo has.
  let state = (number + 1) * 2_654_435_761;
  for (let at = 0; at < words.length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    words[at] = state;
  }
  return bytes;
}
