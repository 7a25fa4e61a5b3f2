import { TidemarkClient } from '@tidemark/backend';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';

/** No name of a host: nothing is looked up, and nothing leaves the process. */
const ORIGIN = 'http://tidemark.invalid';

/** Hands a request to the HTTP application of this process. */
export type Inject = (request: InjectOptions) => Promise<LightMyRequestResponse>;

export interface InProcessClientParts {
  readonly inject: Inject;
  readonly token: string;
  /** False: calls fail without being made, because another server does the work by now. */
  readonly mayCall: () => boolean;
}

/**
 * A client whose calls pass all that requests from outside pass (authentication, admission, limits, audit), without a
 * socket. A call over a socket could reach another worker process, which does not know the token.
 */
export function inProcessClient({ inject, token, mayCall }: InProcessClientParts): TidemarkClient {
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (!mayCall()) throw new Error('this server does not run the connector any more');
    const { statusCode: status, headers, rawPayload } = await inject(injected(url, init));
    const sent = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    return new Response(new Uint8Array(rawPayload), { status, headers: sent });
  };
  return new TidemarkClient({ url: ORIGIN, token, platform: { fetch } });
}

function injected(url: string, { method = 'GET', headers, body, signal }: RequestInit): InjectOptions {
  const { pathname, search, host } = new URL(url);
  return {
    method: method as NonNullable<InjectOptions['method']>,
    url: pathname + search,
    headers: { ...(headers as Record<string, string>), host },
    ...(typeof body === 'string' ? { payload: body } : {}),
    ...(signal ? { signal } : {}),
  };
}
