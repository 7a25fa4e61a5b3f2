import { expect, it } from 'vitest';
import { PathMethods } from './path-methods.ts';

const methods = new PathMethods();
methods.add('/', ['GET']);
methods.add('/users', ['POST', 'GET']);
methods.add('/users/:user_id', ['DELETE']);
methods.add('/users/:user_id', ['GET']);
methods.add('/users/ping', ['POST']);
methods.add('/users/:user_id/docs/:name', ['PUT']);
methods.add('/files/*', ['GET', 'HEAD']);

it.each([
  ['/', '/', 'GET'],
  ['/users', '/users', 'GET, POST'],
  ['/users/7', '/users/:user_id', 'DELETE, GET'],
  ['/users/ping', '/users/ping', 'POST'],
  ['/%75sers/p%69ng', '/users/ping', 'POST'],
  ['/users/ping/docs/a', '/users/:user_id/docs/:name', 'PUT'],
  ['/users/%E0%A4%A/docs/%2F', '/users/:user_id/docs/:name', 'PUT'],
  ['/users/:/docs/*', '/users/:user_id/docs/:name', 'PUT'],
  ['/files/', '/files/*', 'GET, HEAD'],
  ['/files/a/b', '/files/*', 'GET, HEAD'],
])('the path %s has the pattern of the route that matches it best, %s, and its methods: %s', (path, url, expected) => {
  expect(methods.of(path)).toEqual({ url, methods: expected.split(', ') });
});

it.each(['', '/users/', '/users/7/docs', '/users/7/docs/a/b', '/files', '/:', '/*', '/nothing'])(
  'the path "%s", which no route matches, takes no method',
  (path) => {
    expect(methods.of(path)).toBeNull();
  },
);
