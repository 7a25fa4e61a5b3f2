import { Refusal } from '@tidemark/protocol';
import { Caller } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { prefersText } from './negotiate.ts';
import { problemOf } from './problem.ts';

it('a problem contains code, status, details and request id', () => {
  const flaws = [{ pointer: '/objects/1', detail: 'must be an object' }];
  expect(problemOf(new Refusal('invalid_request', '/objects/1 must be an object', flaws), 'r-1')).toEqual({
    type: 'urn:tidemark:problem:invalid_request',
    title: 'The request does not have the required form',
    status: 400,
    detail: '/objects/1 must be an object',
    code: 'invalid_request',
    request_id: 'r-1',
    errors: flaws,
  });
});

it('a problem contains advice where it follows from the code', () => {
  expect(problemOf(new Refusal('not_found', 'there is no route "/x"'), 'r-1')).toEqual({
    type: 'urn:tidemark:problem:not_found',
    title: 'There is nothing at this address',
    status: 404,
    detail: 'there is no route "/x"',
    code: 'not_found',
    hint: 'check the path for typing errors, and for a prefix that a proxy added or removed',
    request_id: 'r-1',
  });
});

it('[REST-21] a refusal names the field that is unknown, with a pointer to it', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const admin = new Caller(server.url, server.token);
  onTestFinished(() => admin.close());
  const refused = await admin.post('/rc/v1/users', { attributes: { login: 'ada', password: 'lovelace' }, gruops: [] });
  expect(refused.body).toMatchObject({
    status: 400,
    detail: 'the body at /gruops is an unknown field',
    errors: [{ pointer: '/gruops', detail: 'is an unknown field' }],
  });
  // A pointer writes ~ and / of a name as ~0 and ~1.
  const escaped = await admin.post('/rc/v1/users', { attributes: { login: 'ada', password: 'lovelace' }, 'a/b~': 1 });
  expect(escaped.body).toMatchObject({ errors: [{ pointer: '/a~1b~0', detail: 'is an unknown field' }] });
});

it.each([
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['application/json', false],
  ['text/plain', true],
  ['text/*', true],
  ['TEXT/Plain; charset=utf-8', true],
  ['text/plain, application/json', false],
  ['text/plain, application/json;q=0.9', true],
  ['text/plain;q=0.5, application/problem+json', false],
  ['text/html, */*;q=0.1', false],
  ['text/plain, */*;q=0.1', true],
  ['text/plain;q=bad', false],
])('Accept %j prefers text: %s', (accept, expected) => {
  expect(prefersText(accept)).toBe(expected);
});
