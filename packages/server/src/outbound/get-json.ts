import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { parseJson } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';
import { type AddressRules, blockedHost, checkedLookup, type Resolve } from './checked-lookup.ts';

export interface GetJsonParts {
  readonly resolve: Resolve;
  readonly rules: AddressRules;
  readonly timers: Timers;
  /** For the whole exchange, up to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly bytesMax: number;
}

/** The document could not be fetched. The message has no content of the answer. */
export class FetchFailure extends Error {
  override readonly name = 'FetchFailure';
}

const HEADER_BYTES_MAX = 16_384;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** A form to post, with headers besides its type. */
export interface PostedForm {
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Fetches a JSON document. It follows no redirects, and only connects to addresses that the rules allow. */
export async function getJson(url: URL, parts: GetJsonParts): Promise<unknown> {
  const { status, body } = await exchange(url, parts, null);
  if (status !== 200) throw new FetchFailure(`answered ${status}`);
  return body();
}

/** Posts a form and returns the status and the JSON of the answer, with the same bounds as `getJson`. */
export async function postForm(
  url: URL,
  form: PostedForm,
  parts: GetJsonParts,
): Promise<{ readonly status: number; readonly body: () => unknown }> {
  return exchange(url, parts, form);
}

async function exchange(
  url: URL,
  parts: GetJsonParts,
  form: PostedForm | null,
): Promise<{ readonly status: number; readonly body: () => unknown }> {
  const { resolve, rules, timers, timeoutMs } = parts;
  if (blockedHost(url, rules) !== null) throw new FetchFailure('its address is not allowed');
  const ending = new AbortController();
  const cancel = timers.after(timeoutMs, () => ending.abort());
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  try {
    const response = await new Promise<IncomingMessage>((answered, failed) => {
      const options = { lookup: checkedLookup(resolve, rules), agent: false, maxHeaderSize: HEADER_BYTES_MAX } as const;
      const headers = { accept: 'application/json', ...(form === null ? {} : { ...FORM, ...form.headers }) };
      const method = form === null ? 'GET' : 'POST';
      send(url, { ...options, method, headers, signal: ending.signal }, answered)
        .on('error', failed)
        .end(form === null ? undefined : new URLSearchParams(form.fields).toString());
    });
    const text = await textOf(response, parts.bytesMax);
    return { status: response.statusCode ?? 0, body: () => parsed(text) };
  } catch (error) {
    if (error instanceof FetchFailure) throw error;
    throw new FetchFailure(
      ending.signal.aborted ? `no complete answer in ${timeoutMs} ms` : `failed (${codeOf(error)})`,
    );
  } finally {
    cancel();
    ending.abort();
  }
}

async function textOf(response: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    if (bytes > bytesMax) throw new FetchFailure(`the answer is longer than ${bytesMax} bytes`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new FetchFailure('the answer is not JSON');
  }
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
