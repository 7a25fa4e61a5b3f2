import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import { callerAddress } from './caller-address.ts';

const socket = { remoteAddress: '192.0.2.1' } as FastifyRequest['socket'];
const addressOf = (ip: string) => callerAddress({ ip, socket });

it('[HARD-5] a port behind a forwarded address does not count', () => {
  const given = ['192.0.2.7', '192.0.2.7:4711', '2001:db8::7', '[2001:db8::7]', '[2001:db8::7]:4711'];
  expect(given.map(addressOf)).toEqual(['192.0.2.7', '192.0.2.7', '2001:db8::7', '2001:db8::7', '2001:db8::7']);
});

it('[HARD-5] a forwarded text that is no address counts as that of the connection, also if it looks like one with a port', () => {
  for (const text of [
    '',
    'rubbish',
    '[rubbish]',
    '[rubbish]:1',
    '1',
    '1.2.3:4',
    '999.0.2.7:1',
    '[192.0.2.7',
    'unix:',
  ]) {
    expect(addressOf(text)).toBe('192.0.2.1');
  }
});
