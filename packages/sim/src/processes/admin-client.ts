import { parseJson } from '@tidemark/protocol';

const CALL_MS_MAX = 150_000;

/** A server has answered that it did not do what was asked. */
export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
}

/** Calls the API of a server as the administrator. `url` returns the server to ask next, which may be another each time. */
export class AdminClient {
  readonly #url: () => string;
  /** A call without an answer fails then. */
  callMsMax = CALL_MS_MAX;
  #token = '';

  constructor(url: () => string) {
    this.#url = url;
  }

  async logIn(password: string): Promise<void> {
    this.#token = String(await this.call('POST', '/rc/v1/system/login', { login: 'admin', password }));
  }

  /** Returns the body of the answer. Throws when the server refuses, or dies before it answers. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(new URL(path, this.#url()), {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#token === '' ? {} : { 'x-sync-api-token': this.#token }),
      },
      signal: AbortSignal.timeout(this.callMsMax),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new RefusedCall(`${method} ${path} was answered ${response.status}: ${text}`);
    return response.headers.get('content-type')?.startsWith('application/json') ? parseJson(text) : text;
  }
}
