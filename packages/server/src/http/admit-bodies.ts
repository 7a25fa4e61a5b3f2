import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler, RequestPayload } from 'fastify';
import { IN_FLIGHT_UNCOUNTED_BYTES_MAX } from '../limits.ts';
import { BodiesInFlight, type BodyCounter } from './bodies-in-flight.ts';
import { type Exchange, exchangeOf } from './exchange.ts';
import { announcedBytes, HttpConnection } from './http-connection.ts';

/** The methods whose bodies the framework does not read. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

declare module 'fastify' {
  interface FastifyInstance {
    /** Bytes of large bodies that have arrived and are being read or processed. */
    readonly bodiesInFlight: { readonly bytes: number };
  }
}

/**
 * Decides before and while a body is read whether to read it: bounds the memory of all bodies of a caller and of all
 * together, and sends `100 Continue` to callers that wait for it. Runs after authentication, so that strangers cannot use
 * up the memory.
 */
export function admitBodies(app: FastifyInstance): void {
  const inFlight = new BodiesInFlight();
  app.decorate('bodiesInFlight', inFlight);
  const admit: preParsingHookHandler = (request, reply, payload, done) => {
    const announced = announcedBytes(request.raw);
    if (announced === 0) return done();
    const exchange = exchangeOf(reply.raw);
    if (exchange.isOver) return;
    if (isOtherCharset(request.headers['content-type'])) {
      return done(new Refusal('unsupported_media_type', 'the body must be in UTF-8, the only encoding of JSON'));
    }
    if (isCounted(request, announced)) {
      const counter = inFlight.begin(request.bearer);
      const refusal = counter.refusalOf(announced);
      if (refusal !== null) return done(refusal);
      countArriving(payload, counter, exchange);
    }
    if (isAwaited(request, announced)) reply.raw.writeContinue();
    done();
  };
  app.addHook('onRoute', (route) => {
    // Methods without a body need no admission.
    if ([route.method].flat().every((method) => BODYLESS.has(method))) return;
    route.preParsing = route.config?.operation?.takesBytes === true ? admitBytes : admit;
  });
}

/** Bytes that are passed on while they arrive take no memory, so they do not count, and may take longer to arrive. */
const admitBytes: preParsingHookHandler = (request, reply, _payload, done) => {
  if (exchangeOf(reply.raw).isOver) return;
  HttpConnection.of(request.raw.socket)?.awaitLongBody();
  if (request.headers.expect !== undefined && request.raw.httpVersion === '1.1') reply.raw.writeContinue();
  done();
};

/**
 * The framework reads the body until it ends or fails, so an error of the stream refuses the request. A body that it does
 * not read, as one of another content type, may arrive after the answer: that is discarded, and counts for nothing.
 */
function countArriving(payload: RequestPayload, counter: BodyCounter, exchange: Exchange): void {
  const count = (chunk: Buffer) => {
    const refusal = counter.add(chunk.length);
    if (refusal === null) return;
    payload.off('data', count);
    // Without a listener the error would end the server.
    if (payload.listenerCount('error') > 0) payload.emit('error', refusal);
    // The rest is read and discarded, as far as the connection allows.
    payload.resume();
  };
  payload.on('data', count);
  exchange.onOver(() => {
    payload.off('data', count);
    counter.end();
  });
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

/** True if the content type names another encoding than UTF-8. */
function isOtherCharset(contentType = ''): boolean {
  if (!contentType.includes(';')) return false;
  return [...contentType.matchAll(CHARSET)].some(([, charset = '']) => !/^utf-?8$/i.test(charset));
}

/** Small bodies are not counted. One above the limit of its route is refused unread. */
function isCounted({ routeOptions: { bodyLimit } }: FastifyRequest, announced: number): boolean {
  if (announced === Number.POSITIVE_INFINITY) return bodyLimit > IN_FLIGHT_UNCOUNTED_BYTES_MAX;
  return announced > IN_FLIGHT_UNCOUNTED_BYTES_MAX && announced <= bodyLimit;
}

/** True if the caller waits for `100 Continue` before it sends a body that will be read. */
function isAwaited({ headers, raw, routeOptions }: FastifyRequest, announced: number): boolean {
  if (headers.expect === undefined || raw.httpVersion !== '1.1') return false;
  return announced === Number.POSITIVE_INFINITY || announced <= routeOptions.bodyLimit;
}
