import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { IN_FLIGHT_BYTES_MAX, IN_FLIGHT_UNCOUNTED_BYTES_MAX } from '../limits.ts';
import { exchangeOf } from './exchange.ts';
import { announcedBytes } from './http-connection.ts';

const RETRY_AFTER_S = 1;
/** The methods whose bodies the framework does not read. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

declare module 'fastify' {
  interface FastifyInstance {
    /** Bytes of the large bodies that are being read or processed. */
    readonly bodiesInFlight: { readonly bytes: number };
  }
}

/**
 * Decides before a body is read whether to read it: bounds the memory of all bodies together, and sends `100
 * Continue` to callers that wait for it. Runs after authentication, so that strangers cannot use up the memory.
 */
export function admitBodies(app: FastifyInstance): void {
  const inFlight = { bytes: 0 };
  app.decorate('bodiesInFlight', inFlight);
  const admit: preParsingHookHandler = (request, reply, _payload, done) => {
    const announced = announcedBytes(request.raw);
    if (announced === 0) return done();
    const exchange = exchangeOf(reply.raw);
    if (exchange.isOver) return;
    if (isOtherCharset(request.headers['content-type'])) {
      return done(new Refusal('unsupported_media_type', 'the body must be in UTF-8, the only encoding of JSON'));
    }
    const bytes = announced <= IN_FLIGHT_UNCOUNTED_BYTES_MAX ? 0 : countedBytes(request, announced);
    if (inFlight.bytes > 0 && bytes > 0 && inFlight.bytes + bytes > IN_FLIGHT_BYTES_MAX) {
      return done(new Refusal('overloaded', 'too many large bodies are being processed at once', [], RETRY_AFTER_S));
    }
    if (bytes > 0) {
      inFlight.bytes += bytes;
      exchange.onOver(() => {
        inFlight.bytes -= bytes;
      });
    }
    if (isAwaited(request, announced)) reply.raw.writeContinue();
    done();
  };
  app.addHook('onRoute', (route) => {
    // Methods without a body need no admission.
    if ([route.method].flat().some((method) => !BODYLESS.has(method))) route.preParsing = admit;
  });
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

/** True if the content type names another encoding than UTF-8. */
function isOtherCharset(contentType = ''): boolean {
  if (!contentType.includes(';')) return false;
  return [...contentType.matchAll(CHARSET)].some(([, charset = '']) => !/^utf-?8$/i.test(charset));
}

/**
 * A body in chunks counts as the limit of its route. A body above the limit counts as 0, since it is refused unread.
 */
function countedBytes(request: FastifyRequest, announced: number): number {
  const { bodyLimit } = request.routeOptions;
  const bytes = announced === Number.POSITIVE_INFINITY ? bodyLimit : announced;
  return bytes <= IN_FLIGHT_UNCOUNTED_BYTES_MAX || bytes > bodyLimit ? 0 : bytes;
}

/** True if the caller waits for `100 Continue` before it sends a body that will be read. */
function isAwaited({ headers, raw, routeOptions }: FastifyRequest, announced: number): boolean {
  if (headers.expect === undefined || raw.httpVersion !== '1.1') return false;
  return announced === Number.POSITIVE_INFINITY || announced <= routeOptions.bodyLimit;
}
