import { TidemarkClient } from '@tidemark/backend';
import { Transport } from '@tidemark/backend/transport';
import { parseJson } from '@tidemark/protocol';
import type { Readiness } from './readiness.ts';
import { ServerWatch } from './server-state.ts';

/** The address of the server, which also served this page. */
export const SERVER_URL = window.location.origin;

const HEADER = 'x-tidemark-console';
const UNAUTHORIZED = 401;

/** Whether the server answers. */
export const server = new ServerWatch();

type Listener = () => void;
const listeners = new Set<Listener>();

/** Calls the listener when the server no longer accepts the session. Returns the unsubscribe function. */
export function onSessionEnded(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The session is in a cookie; the header proves that the call comes from this page. */
async function callFromPage(url: string, init: RequestInit): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), [HEADER]: '1' };
  const response = await fetch(url, { ...init, headers }).catch((error: unknown) => {
    // A call that the page itself gave up says nothing about the server.
    if (init.signal?.aborted !== true) server.failed();
    throw error;
  });
  server.answered(response.status, Date.now());
  if (response.status === UNAUTHORIZED && !url.endsWith('/rc/v1/session')) for (const listener of listeners) listener();
  return response;
}

/** How every call of this page is made. */
const pageOptions = {
  url: SERVER_URL,
  platform: { fetch: callFromPage },
  // A person waits: an error soon is better than an answer late.
  retry: { attemptsMax: 2 },
};

export const client = new TidemarkClient(pageOptions);

/** For routes that are no part of the REST API. */
export const service = new Transport(pageOptions);

export function readiness(): Promise<Readiness> {
  return service.get('/readyz');
}

export function openApiDocument(): Promise<unknown> {
  return service.get('/openapi.json');
}

/** Makes any call of the API with the session. Returns JSON, or the text of another answer. */
export async function callApi(method: string, path: string, body: string | null): Promise<unknown> {
  const outgoing = {
    method: method as 'GET',
    path,
    repetition: 'harmful' as const,
    ...(body === null ? {} : { body }),
  };
  const { text, isJson } = await service.text(outgoing);
  return isJson ? parseJson(text) : text;
}
