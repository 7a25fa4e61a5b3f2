import type { Exchange, Sent } from '../conformance-case.ts';
import { ANY_TEXT, keep, MOMENT, TOKEN, wholeNumber } from '../matcher.ts';
import { json, post, withoutToken } from '../requests.ts';
import { PASSWORD } from './fixtures.ts';

/** Signs a device of the user in, and keeps its token and id as `device` and `client`, or under another name. */
export function signsIn(user: string, as = ''): Exchange {
  return [
    withoutToken(post('/sync/v1/login', { login: user, password: PASSWORD })),
    json({
      token: keep(`device${as}`, TOKEN),
      user_id: user,
      client_id: keep(`client${as}`, ANY_TEXT),
      expires_at: MOMENT,
      generation: wholeNumber(1),
    }),
  ];
}

/** Returns the same request, sent by the device instead of the administrator. */
export function byDevice(sent: Sent, as = ''): Sent {
  return withoutToken({ ...sent, headers: { ...sent.headers, authorization: `Bearer {device${as}}` } });
}

export function pull(
  sources: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
  as = '',
): Sent {
  return byDevice(post('/sync/v1/pull', { client_id: `{client${as}}`, sources, ...more }), as);
}

/** Returns the last page of a source. */
export function page(name: string, changes: Readonly<Record<string, unknown>>) {
  return {
    token: keep(`token ${name}`.replaceAll(/\W/g, '_'), ANY_TEXT),
    more: false,
    checksum: wholeNumber(0),
    ...changes,
  };
}

export function pulled(sources: Readonly<Record<string, unknown>>, outcomes: readonly unknown[] = []) {
  return json({ sources, outcomes });
}

export function kept(name: string): string {
  return `{${`token ${name}`.replaceAll(/\W/g, '_')}}`;
}
