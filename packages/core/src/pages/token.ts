import { textChecksum } from '@tidemark/protocol';

/**
 * What a device holds: how far its pages went, and its baseline.
 *
 * An object occurs in the journal only at its latest change, so a device in the middle of catching up has not seen
 * everything below its seq. What it surely holds is the state at its last complete catch-up, the base. While it starts
 * over it has no base; which tombstones it needs depends on the head at which it started.
 */
export interface Token {
  readonly epoch: string;
  readonly seq: number;
  readonly baseline: Baseline;
  /**
   * The head at which the page was read, in the middle of a catch-up. The page left out the objects that had moved to
   * between `seq` and there, so the token is only good while the journal still has all of that. Absent after a complete
   * catch-up, where it is `seq`, and in tokens of an earlier version.
   */
  readonly head?: number;
  /** How often the device had been told to start over when it got the token. */
  readonly restarts: number;
}

/** A token without what belongs to a single device: the same for every device at the same position. */
export type PlainToken = Omit<Token, 'restarts'>;

export type Baseline =
  | { readonly kind: 'base'; readonly seq: number }
  | { readonly kind: 'start'; readonly seq: number };

const FORMAT =
  /^1\.([\w-]{1,64})\.([0-9a-z]{1,11})\.([bs])([0-9a-z]{1,11})(?:\.h([0-9a-z]{1,11}))?(?:\.r([0-9a-z]{1,11}))?$/;
const TOKEN_UNITS_MAX = 128;

/** The token as text. The checksum at its end turns damage into a reset instead of a gap. */
export function tokenText({ epoch, seq, baseline, head }: PlainToken, restarts: number): string {
  const mark = baseline.kind === 'base' ? 'b' : 's';
  const readAt = head === undefined ? '' : `.h${head.toString(36)}`;
  const restartsText = restarts === 0 ? '' : `.r${restarts.toString(36)}`;
  const body = `1.${epoch}.${seq.toString(36)}.${mark}${baseline.seq.toString(36)}${readAt}${restartsText}`;
  return `${body}.${textChecksum(body).toString(36)}`;
}

/** Devices present the tokens they were given, and all devices that have caught up with a partition present the same. */
const TOKENS_KNOWN_MAX = 1_000;
const known = new Map<string, Token>();

/** The text of a token for devices that were never told to start over. It is remembered, so that it need not be parsed. */
export function givenToken(token: PlainToken): string {
  const text = tokenText(token, 0);
  remember(text, { ...token, restarts: 0 });
  return text;
}

/** Null: the token is unreadable. */
export function readToken(text: string): Token | null {
  if (text.length > TOKEN_UNITS_MAX) return null;
  const remembered = known.get(text);
  if (remembered !== undefined) return remembered;
  const token = parseToken(text);
  if (token === null) return null;
  remember(text, token);
  return token;
}

function remember(text: string, token: Token): void {
  if (known.size >= TOKENS_KNOWN_MAX) known.clear();
  known.set(text, token);
}

function parseToken(text: string): Token | null {
  const end = text.lastIndexOf('.');
  const body = text.slice(0, Math.max(end, 0));
  const [, epoch, seqText, kind, baselineText, headText, restartsText = '0'] = FORMAT.exec(body) ?? [];
  if (epoch === undefined || seqText === undefined || baselineText === undefined) return null;
  const seq = Number.parseInt(seqText, 36);
  const baselineSeq = Number.parseInt(baselineText, 36);
  const baseline: Baseline = { kind: kind === 'b' ? 'base' : 'start', seq: baselineSeq };
  const head = headText === undefined ? {} : { head: Number.parseInt(headText, 36) };
  const token: Token = { epoch, seq, baseline, ...head, restarts: Number.parseInt(restartsText, 36) };
  // Writing it again catches damage, foreign spellings of a number, and numbers too large to be exact.
  return tokenText(token, token.restarts) === text && isPossible(token) ? token : null;
}

function isPossible({ seq, baseline, head }: Token): boolean {
  if (head !== undefined && head <= Math.max(seq, baseline.seq - 1)) return false;
  return baseline.kind === 'start' || baseline.seq <= seq;
}

/** Whether a complete catch-up was under way: only part of what lies below the seq of the token is on the device. */
export function isCatchingUp({ seq, baseline }: PlainToken): boolean {
  return baseline.kind === 'start' || baseline.seq !== seq;
}
