import { expect, it } from 'vitest';
import { prettyLine } from './pretty-line.ts';

const AT = '2026-03-01T10:20:30.405Z';

/** The line without the time, which depends on the time zone of the machine. */
function shown(fields: Readonly<Record<string, unknown>>): string {
  const line = prettyLine(JSON.stringify({ level: 'info', time: AT, ...fields }), false);
  expect(line).toMatch(/^\d\d:\d\d:30\.405 /);
  return line.slice('10:20:30.405 '.length);
}

it('[LOG-23] a request is one line for people: what was asked, what came of it, who asked and how long it took', () => {
  const request = {
    event: 'request',
    request_id: 'r1',
    method: 'GET',
    route: '/rc/v1/users/:user_id',
    path: null,
    status: 404,
    aborted: false,
    code: 'user_not_found',
    duration_ms: 1.5,
    bytes_in: 0,
    bytes_out: 200,
    user_id: 'admin',
    client_id: null,
    token_id: 't1',
  };
  expect(shown(request)).toBe(
    'INFO  GET /rc/v1/users/:user_id 404 user_not_found admin 1.5 ms request_id=r1 bytes_in=0 bytes_out=200 token_id=t1\n',
  );
  expect(
    shown({ ...request, level: 'warn', path: '/nowhere', route: null, status: null, code: null, aborted: true }),
  ).toBe('WARN  GET /nowhere hung up admin 1.5 ms request_id=r1 aborted=true bytes_in=0 bytes_out=200 token_id=t1\n');
});

it('[LOG-23] fields with spaces are quoted, control characters are escaped, and only the stack of an error takes more lines', () => {
  expect(shown({ event: 'backend_failed', reason: 'it said "no"\n\u001b[31m', to: ['a', 1], login: 'a\u0007' })).toBe(
    'INFO  backend_failed reason="it said \\"no\\"\\n\\u001b[31m" to=["a",1] login="a\\u0007"\n',
  );
  const err = { type: 'Error', message: 'broken', stack: 'Error: broken\n    at here' };
  expect(shown({ level: 'error', event: 'a request failed', request_id: 'r1', err })).toBe(
    'ERROR a request failed request_id=r1\n    Error: broken\n        at here\n',
  );
  expect(prettyLine('no JSON\n', false)).toBe('no JSON\n');
});
