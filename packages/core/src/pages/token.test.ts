import { describe, expect, it } from 'vitest';
import { givenToken, readToken, type Token, tokenText } from './token.ts';

const tokens: readonly Token[] = [
  { epoch: 'abc_-9', seq: 0, baseline: { kind: 'base', seq: 0 }, restarts: 0 },
  { epoch: 'e', seq: 12_345, baseline: { kind: 'base', seq: 12_000 }, restarts: 0 },
  { epoch: 'e', seq: 7, baseline: { kind: 'start', seq: 99 }, restarts: 0 },
  { epoch: 'e'.repeat(64), seq: 2 ** 47, baseline: { kind: 'start', seq: 3 }, restarts: 0 },
  { epoch: 'e', seq: 7, baseline: { kind: 'base', seq: 7 }, restarts: 1 },
  { epoch: 'e'.repeat(64), seq: 2 ** 47, baseline: { kind: 'start', seq: 2 ** 47 }, restarts: 99_999 },
  { epoch: 'e', seq: 7, baseline: { kind: 'base', seq: 3 }, head: 8, restarts: 0 },
  { epoch: 'e', seq: 7, baseline: { kind: 'start', seq: 99 }, head: 99, restarts: 2 },
  { epoch: 'e'.repeat(64), seq: 2 ** 47, baseline: { kind: 'start', seq: 3 }, head: 2 ** 47 + 1, restarts: 99_999 },
];

describe('tokens', () => {
  it('[TOK-4] tokens that earlier versions gave are read, and a complete catch-up is still written in the same way', () => {
    const given = ['1.e.9ix.b99c.9l1evgwfu3', '1.e.7.s2r.ghgjjwez3s', '1.e.7.b7.r1.wznouqmtsb'];
    expect(given.map(readToken)).toEqual([tokens[1], tokens[2], tokens[4]]);
    expect(tokenText({ epoch: 'e', seq: 7, baseline: { kind: 'base', seq: 7 } }, 1)).toBe(given[2]);
  });

  it('[TOK-1] a token can be read back exactly', () => {
    for (const token of tokens) expect(readToken(tokenText(token, token.restarts))).toEqual(token);
  });

  it('[TOK-1] a token that this process has given is read back without being parsed', () => {
    for (const { restarts: _, ...token } of tokens) {
      const text = givenToken(token);
      expect(text).toBe(tokenText(token, 0));
      expect(readToken(text)).toEqual({ ...token, restarts: 0 });
    }
  });

  it('[TOK-2] a damaged token is unreadable and never points elsewhere', () => {
    for (const text of tokens.map(tokenText)) {
      for (let index = 0; index < text.length; index++) {
        expect(readToken(text.slice(0, index))).toBeNull();
        for (const unit of ['0', '1', 'z', 'Z', '.', ' ']) {
          const damaged = text.slice(0, index) + unit + text.slice(index + 1);
          if (damaged !== text) expect(readToken(damaged)).toBeNull();
        }
        expect(readToken(`${text.slice(0, index)}0${text.slice(index)}`)).toBeNull();
      }
    }
  });

  it('[TOK-3] a token that cannot have been given is unreadable', () => {
    const baseBeyondSeq: Token = { epoch: 'e', seq: 5, baseline: { kind: 'base', seq: 6 }, restarts: 0 };
    const middle: Token = { epoch: 'e', seq: 7, baseline: { kind: 'start', seq: 9 }, restarts: 0 };
    const garbage = [
      '',
      '.',
      '1',
      'null',
      '1.e.0.b0',
      '1.e.0.b0.0',
      '2.e.0.b0.0',
      'x'.repeat(100_000),
      '\u0000',
      tokenText(baseBeyondSeq, 0),
      tokenText({ ...middle, head: 8 }, 0),
      tokenText({ ...middle, baseline: { kind: 'base', seq: 3 }, head: 7 }, 0),
    ];
    for (const text of garbage) expect(readToken(text)).toBeNull();
  });
});
