import { expect, it } from 'vitest';
import { JsonProblem, parseCommentedJson } from './parse-commented-json.ts';

it('comments and trailing commas are accepted, and strings stay unchanged', () => {
  const text = `\uFEFF// The server of the harbour
{
  /* two
     lines */
  "url": "http://x/*no comment*/,]", // told twice
  "quote": "a \\" // b",
  "list": [1, 2, /* last */ ],
}
`;
  expect(parseCommentedJson(text)).toEqual({ url: 'http://x/*no comment*/,]', quote: 'a " // b', list: [1, 2] });
});

it.each([
  ['{"a":1,,"b":2}', 1, 8],
  ['{"port": 1,\n  "host" "x" }', 2, 10],
  ['{"password": geheim}', 1, 14],
  ['{\n"password": "geheim', 2, 20],
  ['', 1, 1],
  ['{"a": 1 /* never closed }', 1, 9],
])('the error for %j names line and column and quotes nothing', (text, line, column) => {
  const problem = new JsonProblem(`is not JSON: there is a mistake at line ${line}, column ${column}`);
  expect(() => parseCommentedJson(text)).toThrow(problem);
});
