import { expect, it } from 'vitest';
import { didYouMean } from './did-you-mean.ts';

const KNOWN = ['host', 'port', 'admin_login', 'admin_password', 'log_level', 'ping.webhook_url'];

it.each([
  ['prot', 'port'],
  ['por', 'port'],
  ['porte', 'port'],
  ['Port', 'port'],
  ['admin_lgoin', 'admin_login'],
  ['adminLogin', 'admin_login'],
  ['admin-password', 'admin_password'],
  ['admin_pasword', 'admin_password'],
  ['loglevel', 'log_level'],
  ['ping_webhook_uri', 'ping.webhook_url'],
])('for %j the suggestion is %j', (word, meant) => {
  expect(didYouMean(word, KNOWN)).toBe(meant);
});

it.each(['', 'x', 'po', 'colour', 'administrator', '__proto__', 'p'.repeat(10_000)])(
  'there is no suggestion for %j',
  (word) => {
    expect(didYouMean(word, KNOWN)).toBeNull();
  },
);

it('the most similar of several names is suggested', () => {
  expect(didYouMean('ports', ['sorta', 'port'])).toBe('port');
  expect(didYouMean('ab_cd', [])).toBeNull();
});
