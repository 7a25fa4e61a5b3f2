import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Bearer } from '@tidemark/core';
import type { FastifyReply } from 'fastify';
import { type AnswerHeaders, beginRequest, type RequestRule, refusalOfRequest } from './every-request.ts';
import { exchangeOf } from './exchange.ts';
import { announcedBytes, HttpConnection } from './http-connection.ts';
import type { RememberedAnswer } from './remembered-answer.ts';
import type { Repeatable } from './route.ts';

/**
 * Remembers an answer for the connection that it was sent on. Does nothing if the request was too large, or did not announce
 * its length: an equal one could go on after the bytes that have arrived.
 */
export function rememberAnswer(reply: FastifyReply, text: string, repeatable: Repeatable): void {
  const { method, bearer, admission, servedBy, smallBody, headers: requestHeaders, raw } = reply.request;
  const connection = HttpConnection.of(raw.socket);
  if (connection === undefined || smallBody === null || announcedBytes(raw) !== smallBody.length) return;
  // A caller that expects `100 Continue` gets it from the framework.
  if (requestHeaders.expect !== undefined) return;
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) => [name, String(value)]);
  const { url = '', httpVersion, rawHeaders } = raw;
  const body = smallBody.toString('latin1');
  const caller = bearer === null || admission === null ? null : { bearer, admission };
  const answered = { method, caller, servedBy, url, httpVersion, rawHeaders, body };
  connection.remembered = { ...answered, headers, text, repeatable };
}

/**
 * Answers a request that equals the last one of its connection, byte by byte, with the last answer, if the route says that
 * it is still right. Routing, hooks, parsing and validation would find the same as before, so they are left out; `rules` and
 * those of callers are applied. All other requests go to `handle`, and so do those that a rule refuses.
 */
export function repeatAnswers(handle: RequestListener, rules: readonly RequestRule[]): RequestListener {
  return (request, response) => {
    const connection = HttpConnection.of(request.socket);
    const remembered = connection?.remembered ?? null;
    if (connection === undefined || remembered === null || !isSameHead(request, remembered)) {
      return handle(request, response);
    }
    const startedMs = performance.now();
    const onChecked = (current: CurrentCaller | null) => {
      if (exchangeOf(response).isOver) return;
      if (current !== null && repeatAnswer(response, remembered, { rules, bearer: current.bearer, startedMs })) return;
      connection.remembered = null;
      handle(request, response);
    };
    currentCaller(remembered).then(onChecked, () => onChecked(null));
  };
}

interface CurrentCaller {
  /** Null on public routes. */
  readonly bearer: Bearer | null;
}

/** Null: the token of the caller is no longer valid, or the answer is outdated. */
async function currentCaller({ caller, repeatable }: RememberedAnswer): Promise<CurrentCaller | null> {
  const found = caller === null ? null : caller.admission.findAgain(caller.bearer);
  const [bearer, isCurrent] = await Promise.all([found, repeatable.isCurrent()]);
  return isCurrent && (caller === null || bearer !== null) ? { bearer } : null;
}

function isSameHead({ method, url, httpVersion, rawHeaders }: IncomingMessage, known: RememberedAnswer): boolean {
  if (url !== known.url || method !== known.method || httpVersion !== known.httpVersion) return false;
  if (rawHeaders.length !== known.rawHeaders.length) return false;
  for (let index = 0; index < rawHeaders.length; index++) {
    if (rawHeaders[index] !== known.rawHeaders[index]) return false;
  }
  return true;
}

/** Takes the body if it has arrived and is the expected one. Otherwise it stays in the request. */
function takeBody(request: IncomingMessage, expected: string): boolean {
  if (request.readableLength !== expected.length) return false;
  const body = request.read() as Buffer;
  if (body.toString('latin1') === expected) return true;
  request.unshift(body);
  return false;
}

interface Repeating extends CurrentCaller {
  readonly rules: readonly RequestRule[];
  readonly startedMs: number;
}

/** Sends the answer again. Returns false, and sends nothing, if a rule refuses the request or its body differs. */
function repeatAnswer(response: ServerResponse, remembered: RememberedAnswer, repeating: Repeating): boolean {
  const { method, caller, servedBy, text, repeatable, body } = remembered;
  const { rules, bearer, startedMs } = repeating;
  const request = { id: randomUUID(), method, bearer, servedBy, refusedWith: null, raw: response.req };
  const headers = new RepeatedHeaders(remembered.headers);
  if (refusalOfRequest(rules, request) !== null || !takeBody(response.req, body)) return false;
  if (caller !== null && bearer !== null && caller.admission.refusalOf(bearer, headers) !== null) {
    response.req.unshift(Buffer.from(body, 'latin1'));
    return false;
  }
  beginRequest(rules, { request, response, startedMs, headers });
  repeatable.onRepeated();
  response.writeHead(200, headers.flat).end(text);
  return true;
}

/** The headers of a remembered answer, some of which are set anew. */
class RepeatedHeaders implements AnswerHeaders {
  /** Names and values alternate. */
  readonly flat: string[];

  constructor(remembered: readonly string[]) {
    this.flat = [...remembered];
  }

  header(name: string, value: string): void {
    for (let at = 0; at < this.flat.length; at += 2) {
      if (this.flat[at] !== name) continue;
      this.flat[at + 1] = value;
      return;
    }
    this.flat.push(name, value);
  }
}
