/**
 * Legal names that engines may confuse: separators that make different tuples join to the same text, patterns, words with
 * a meaning in JavaScript or a file system, similar characters, and the longest names.
 */
export const AWKWARD_NAMES: readonly string[] = [
  ...['a', 'b', 'c', 'a:b', 'b:c', 'a:b:c', ':', '::', 'a/b', 'b/c', '/', 'a|b', 'b|c', 'a,b', 'b,c', 'a b', 'b c'],
  ...[' ', '  ', ' a', 'a ', 'a*', '*a', '**', '?', '[a]', '{a}', '%', 'a%3Ab', '\\', 'a\\', '"', 'a","b', '["a","b"]'],
  ...['.', '..', '../a', 'null', 'undefined', 'true', '0', '00', '1', '-1', '1e0', 'NaN'],
  ...['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'id', 'length', 'then', 'prototype'],
  ...[
    'A',
    'B',
    'ａ',
    'é',
    'e\u0301',
    'ß',
    'ss',
    'ı',
    'i',
    'I',
    'ﬁ',
    'fi',
    '\u00a0',
    '\u200b',
    'a\u200b',
    '\ufeff',
    '\ufeffa',
  ],
  ...['\u2028', '\ufffd', '\uffff', '\uff5e', '\u{1f600}', '\u{1f600}\u{1f600}', '\u{10ffff}', '\ue000'],
  ...['shared', 'server', 'user', 'client', 'md', 'cd', 'head', 'epoch', 'floor', '__shared', 'tidemark'],
];

/** The longest names, equal up to the last byte. */
export const LONG_NAMES: readonly string[] = [
  'x'.repeat(255),
  `${'x'.repeat(254)}y`,
  'x'.repeat(254),
  `${'\u{1f600}'.repeat(63)}abc`,
  `${'\u{1f600}'.repeat(63)}abd`,
  `${'é'.repeat(127)}e`,
];

/** Object ids may be twice as long. */
export const LONG_IDS: readonly string[] = [
  ...LONG_NAMES,
  'x'.repeat(512),
  `${'x'.repeat(511)}y`,
  'x'.repeat(511),
  '\u{1f600}'.repeat(128),
  `${'\u{1f600}'.repeat(127)}\u{1f601}`,
];

/** Names whose pairs and triples join to the same text with nearly any separator. */
export const JOINING_NAMES: readonly string[] = [
  ...['a', 'b', 'a:b', 'b:a', 'a:a', 'a/b', 'b/a', 'a b', 'b a', ' ', 'a","b', 'null', 'constructor', 'A', '\u{1f600}'],
  ...['é', 'e\u0301', 'x'.repeat(255)],
];
