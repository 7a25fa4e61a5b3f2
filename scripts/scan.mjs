// A reader of TypeScript that knows just enough to tell code from comments, strings, templates and regular
// expressions. TypeScript 7 has no JavaScript interface, and a plain search would take a comment for an import.

const REGEX_AFTER_WORD = /\b(?:return|typeof|case|in|of|delete|void|throw|new|instanceof|do|else|await|yield)$/;
const REGEX_AFTER_SIGN = /[(,=:[!&|?{};+\-*%~^<>]$/;

/**
 * @returns {{code: string, strings: {start: number, value: string}[]}} `code` is the text with comments and the
 *   insides of literals blanked out, at unchanged offsets; `strings` are the string literals, and of templates what
 *   stands before the first `${`.
 */
export function scan(text) {
  const state = { text, at: 0, code: '', strings: [], depth: 0, templates: [] };
  while (state.at < text.length) step(state);
  return { code: state.code, strings: state.strings };
}

/** What a file imports or re-exports, by whatever syntax, types included. */
export function importsOf(text) {
  const { code, strings } = scan(text);
  return strings
    .filter(({ start }) =>
      /(?:\bfrom|\bimport|\b(?:import|require)\s*\()\s*$/.test(code.slice(Math.max(0, start - 200), start)),
    )
    .map(({ start, value }) => ({ specifier: value, line: lineAt(text, start) }));
}

export function lineAt(text, offset) {
  return text.slice(0, offset).split('\n').length;
}

function step(state) {
  const { text, at } = state;
  const char = text[at];
  const pair = text.slice(at, at + 2);
  if (pair === '//') return blank(state, ended(text, '\n', at));
  if (pair === '/*') return blank(state, ended(text, '*/', at + 2) + 2);
  if (char === "'" || char === '"') return literal(state, closing(text, at, char));
  if (char === '`') return template(state);
  if (char === '/' && regexMayStart(state.code)) return literal(state, closingOfRegex(text, at), false);
  if (char === '{') state.depth++;
  if (char === '}') {
    state.depth--;
    if (state.templates.at(-1) === state.depth) {
      state.templates.pop();
      return template(state);
    }
  }
  keep(state, 1);
}

/** From a backtick, or from the brace that ends a substitution, to the next `${` or to the end of the template. */
function template(state) {
  const { text, at } = state;
  let end = at + 1;
  while (end < text.length && text[end] !== '`' && text.slice(end, end + 2) !== '${') end += text[end] === '\\' ? 2 : 1;
  if (text[at] === '`') state.strings.push({ start: at, value: text.slice(at + 1, end) });
  keep(state, 1);
  blank(state, end);
  if (text[end] === '$') {
    state.templates.push(state.depth++);
    keep(state, 2);
  } else {
    keep(state, 1);
  }
}

function literal(state, end, isString = true) {
  if (end === -1) return keep(state, 1);
  if (isString) state.strings.push({ start: state.at, value: state.text.slice(state.at + 1, end) });
  keep(state, 1);
  blank(state, end);
  keep(state, 1);
}

function keep(state, count) {
  state.code += state.text.slice(state.at, state.at + count);
  state.at += count;
}

function blank(state, end) {
  state.code += state.text.slice(state.at, end).replace(/[^\n]/g, ' ');
  state.at = end;
}

function ended(text, mark, from) {
  const found = text.indexOf(mark, from);
  return found === -1 ? text.length : found;
}

/** Where a literal of one line ends, or -1 when it does not: then it was no literal. */
function closing(text, at, quote) {
  for (let end = at + 1; end < text.length && text[end] !== '\n'; end++) {
    if (text[end] === quote) return end;
    if (text[end] === '\\') end++;
  }
  return -1;
}

function closingOfRegex(text, at) {
  let inClass = false;
  for (let end = at + 1; end < text.length && text[end] !== '\n'; end++) {
    if (text[end] === '/' && !inClass) return end;
    if (text[end] === '\\') end++;
    else if (text[end] === '[') inClass = true;
    else if (text[end] === ']') inClass = false;
  }
  return -1;
}

function regexMayStart(code) {
  const before = code.slice(-400).trimEnd();
  return before === '' || REGEX_AFTER_SIGN.test(before) || REGEX_AFTER_WORD.test(before);
}
