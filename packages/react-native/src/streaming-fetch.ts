import { TextQueue } from './text-queue.ts';

/** What the event stream uses of `XMLHttpRequest`. */
export interface XhrLike {
  readonly readyState: number;
  readonly status: number;
  readonly responseText: string;
  onreadystatechange: (() => void) | null;
  onprogress: (() => void) | null;
  onload: (() => void) | null;
  onerror: (() => void) | null;
  ontimeout: (() => void) | null;
  onabort: (() => void) | null;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getResponseHeader(name: string): string | null;
  send(): void;
  abort(): void;
}

export interface StreamingFetchParts {
  /** For every request that is not a stream. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly XMLHttpRequest: new () => XhrLike;
}

const STREAM_TYPES: ReadonlySet<string> = new Set(['text/event-stream', 'application/x-ndjson']);
const HEADERS_RECEIVED = 2;

/**
 * Text of one stream, in UTF-16 units. `XMLHttpRequest` holds all of it until the stream ends, so a longer one is ended here behind a
 * line; the device then opens the next one, which continues there.
 */
export const STREAM_UNITS_MAX = 4_000_000;

/**
 * Returns a `fetch` that hands over streams as they arrive. That of React Native waits until an answer is complete, which an event
 * stream never is; its `XMLHttpRequest` tells of what has arrived.
 */
export function streamingFetch({ fetch, XMLHttpRequest }: StreamingFetchParts) {
  return (url: string, init: RequestInit): Promise<Response> => {
    const headers = (init.headers ?? {}) as Readonly<Record<string, string>>;
    return STREAM_TYPES.has(headers.accept ?? '')
      ? openStream(new XMLHttpRequest(), url, headers, init.signal ?? null)
      : fetch(url, init);
  };
}

/** Resolves when the headers have arrived. */
function openStream(
  xhr: XhrLike,
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | null,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    let units = 0;
    let hasLine = false;
    const texts = new TextQueue(() => xhr.abort());
    const takeNew = () => {
      const text = xhr.responseText.slice(units);
      units += text.length;
      hasLine ||= text.includes('\n');
      texts.add(text);
    };
    const end = () => {
      signal?.removeEventListener('abort', onAbort);
      texts.complete();
    };
    const fail = (error: unknown) => {
      signal?.removeEventListener('abort', onAbort);
      texts.fail(error);
      reject(error);
    };
    const onAbort = () => {
      fail(signal?.reason ?? new Error('the request was aborted'));
      xhr.abort();
    };
    xhr.onreadystatechange = () => {
      // A request that failed has the status 0.
      if (xhr.readyState >= HEADERS_RECEIVED && xhr.status !== 0) resolve(responseOf(xhr, texts.read()));
    };
    xhr.onprogress = () => {
      takeNew();
      if (units < STREAM_UNITS_MAX || !hasLine) return;
      end();
      xhr.abort();
    };
    xhr.onload = () => {
      takeNew();
      end();
    };
    xhr.onerror = () => fail(new TypeError('the connection failed'));
    xhr.ontimeout = xhr.onerror;
    xhr.onabort = () => fail(new Error('the request was aborted'));
    if (signal?.aborted) return onAbort();
    signal?.addEventListener('abort', onAbort);
    xhr.open('GET', url);
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value);
    xhr.send();
  });
}

/** What the device uses of a response: `texts` is the stream, and `text` reads an answer that refuses it. */
function responseOf(xhr: XhrLike, texts: AsyncGenerator<string>): Response {
  const text = async () => {
    let whole = '';
    for await (const part of texts) whole += part;
    return whole;
  };
  const { status } = xhr;
  const response = {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name: string) => xhr.getResponseHeader(name) },
    body: null,
    texts,
    text,
    json: async (): Promise<unknown> => JSON.parse(await text()),
  };
  return response as unknown as Response;
}
