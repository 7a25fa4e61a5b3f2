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
  ['/', 'GET'],
  ['/users', 'GET, POST'],
  ['/users/7', 'DELETE, GET'],
  ['/users/ping', 'POST'],
  ['/%75sers/p%69ng', 'POST'],
  ['/users/ping/docs/a', 'PUT'],
  ['/users/%E0%A4%A/docs/%2F', 'PUT'],
  ['/users/:/docs/*', 'PUT'],
  ['/files/', 'GET, HEAD'],
  ['/files/a/b', 'GET, HEAD'],
])('the path %s takes the methods of the route that matches it best: %s', (path, expected) => {
  expect(methods.of(path).join(', ')).toBe(expected);
});

it.each(['', '/users/', '/users/7/docs', '/users/7/docs/a/b', '/files', '/:', '/*', '/nothing'])(
  'the path "%s", which no route matches, takes no method',
  (path) => {
    expect(methods.of(path)).toEqual([]);
  },
);
