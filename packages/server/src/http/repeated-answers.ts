import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { RATE_HEADER } from '../auth/rate-limiter.ts';
import { exchangeOf } from './exchange.ts';
import { HttpConnection } from './http-connection.ts';
import type { LoadGauge } from './load-gauge.ts';
import type { RememberedAnswer } from './remembered-answer.ts';
import type { Repeatable } from './route.ts';
import type { EndedListeners } from './watch-answers.ts';

const REQUEST_ID = 'x-request-id';

/** Remembers an answer for the connection that it was sent on. Does nothing if the request was too large. */
export function rememberAnswer(reply: FastifyReply, text: string, repeatable: Repeatable): void {
  const { method, bearer, servedBy, smallBody, headers: requestHeaders, raw } = reply.request;
  const connection = HttpConnection.of(raw.socket);
  // A caller that expects `100 Continue` gets it from the framework.
  if (connection === undefined || smallBody === null || requestHeaders.expect !== undefined) return;
  // A caller with a rate limit is counted, and told what is left, with every request.
  if (reply.hasHeader(RATE_HEADER)) return;
  const headers = Object.entries(reply.getHeaders()).flatMap(([name, value]) =>
    name === REQUEST_ID ? [] : [name, String(value)],
  );
  const { url = '', httpVersion, rawHeaders } = raw;
  const body = smallBody.toString('latin1');
  const answered = { method, bearer, servedBy, url, httpVersion, rawHeaders, body };
  connection.remembered = { ...answered, headers, text, repeatable };
}

export interface RepeatedAnswersParts {
  /** Overloaded servers refuse in the usual way. */
  readonly gauge: Pick<LoadGauge, 'overload'>;
  readonly listeners: EndedListeners;
}

/**
 * Answers a request that equals the last one of its connection, byte by byte, with the last answer, if the route says that
 * it is still right. Routing, hooks, parsing and validation would find the same as before, so they are left out. All other
 * requests go to `handle`.
 */
export function repeatAnswers(handle: RequestListener, parts: RepeatedAnswersParts): RequestListener {
  return (request, response) => {
    const connection = HttpConnection.of(request.socket);
    const remembered = connection?.remembered ?? null;
    if (connection === undefined || remembered === null || parts.gauge.overload !== null) {
      return handle(request, response);
    }
    if (!isSameHead(request, remembered)) return handle(request, response);
    const startedMs = performance.now();
    const onChecked = (isCurrent: boolean) => {
      if (exchangeOf(response).isOver) return;
      if (isCurrent && takeBody(request, remembered.body)) return send(response, remembered, { ...parts, startedMs });
      connection.remembered = null;
      handle(request, response);
    };
    remembered.repeatable.isCurrent().then(onChecked, () => onChecked(false));
  };
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

interface Sending extends RepeatedAnswersParts {
  readonly startedMs: number;
}

function send(response: ServerResponse, remembered: RememberedAnswer, { listeners, startedMs }: Sending): void {
  const { method, bearer, servedBy, headers, text, repeatable } = remembered;
  // Without a listener a late write would end the process. A caller that hangs up is not an error.
  response.on('error', ignore);
  const id = randomUUID();
  listeners.watch({ id, method, bearer, servedBy, refusedWith: null, raw: response.req }, response, startedMs);
  repeatable.onRepeated();
  response.writeHead(200, [...headers, REQUEST_ID, id]).end(text);
}

function ignore(): void {}
