import { expect, it } from 'vitest';
import { ConfigProblem, readConfig } from './config.ts';

it('listens on loopback, port 9292, when nothing is said', () => {
  expect(readConfig({})).toEqual({ host: '127.0.0.1', port: 9292, shutdownGraceMs: 10_000 });
  expect(readConfig({ TIDEMARK_HOST: '', TIDEMARK_PORT: '' })).toEqual(readConfig({}));
});

it.each([
  ['0', 0],
  ['1', 1],
  ['65535', 65_535],
])('takes port %s', (text, port) => {
  expect(readConfig({ TIDEMARK_HOST: '::1', TIDEMARK_PORT: text })).toMatchObject({ host: '::1', port });
});

it.each(['65536', '-1', '80.5', '0x50', 'http', ' 80', '1e3', '100000'])(
  'refuses port %j and names the setting',
  (text) => {
    expect(() => readConfig({ TIDEMARK_PORT: text })).toThrow(
      new ConfigProblem(`TIDEMARK_PORT must be a whole number from 0 to 65535, not "${text}"`),
    );
  },
);
