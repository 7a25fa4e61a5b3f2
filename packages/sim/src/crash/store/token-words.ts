/** What a token says, read without the server's help. */
export interface TokenWords {
  readonly epoch: string;
  readonly seq: number;
  /** The head at the last complete catch-up; null while the device starts over. */
  readonly base: number | null;
  /** The head at which starting over began; null when there is a base. */
  readonly start: number | null;
}

export function tokenWords(token: string): TokenWords {
  const [, epoch = '', seq = '', baseline = ''] = token.split('.');
  const footholdSeq = Number.parseInt(baseline.slice(1), 36);
  const isBase = baseline.startsWith('b');
  return {
    epoch,
    seq: Number.parseInt(seq, 36),
    base: isBase ? footholdSeq : null,
    start: isBase ? null : footholdSeq,
  };
}
