import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { IN_FLIGHT_BYTES_MAX, IN_FLIGHT_UNCOUNTED_BYTES_MAX } from '../limits.ts';
import { exchangeOf } from './exchange.ts';
import { announcedBytes } from './http-connection.ts';

const RETRY_AFTER_S = 1;
/** The methods whose bodies the framework never reads. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

declare module 'fastify' {
  interface FastifyInstance {
    /** What the larger bodies take that are being read or worked on. */
    readonly bodiesInFlight: { readonly bytes: number };
  }
}

/**
 * Decides before a body is read whether it will be: bounds what bodies together take of the memory, and asks for a body
 * whose sender waits to be asked. Runs after authentication: strangers cannot take up the room.
 */
export function admitBodies(app: FastifyInstance): void {
  const inFlight = { bytes: 0 };
  app.decorate('bodiesInFlight', inFlight);
  const admit: preParsingHookHandler = (request, reply, _payload, done) => {
    const announced = announcedBytes(request.raw);
    if (announced === 0) return done();
    const exchange = exchangeOf(reply.raw);
    if (exchange.isSpent) return;
    if (isOtherCharset(request.headers['content-type'])) {
      return done(new Refusal('unsupported_media_type', 'the body must be in UTF-8, the only encoding of JSON'));
    }
    const bytes = announced <= IN_FLIGHT_UNCOUNTED_BYTES_MAX ? 0 : countedBytes(request, announced);
    if (inFlight.bytes > 0 && bytes > 0 && inFlight.bytes + bytes > IN_FLIGHT_BYTES_MAX) {
      return done(new Refusal('overloaded', 'too many large bodies are being worked on at once', [], RETRY_AFTER_S));
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
    // Where no body is read, none takes up room.
    if ([route.method].flat().some((method) => !BODYLESS.has(method))) route.preParsing = admit;
  });
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi;

/** Whether the content type names another encoding than UTF-8. */
function isOtherCharset(contentType = ''): boolean {
  if (!contentType.includes(';')) return false;
  return [...contentType.matchAll(CHARSET)].some(([, charset = '']) => !/^utf-?8$/i.test(charset));
}

/** Bodies above the limit of their route are refused without being read, and those in chunks may be as long as that. */
function countedBytes(request: FastifyRequest, announced: number): number {
  const { bodyLimit } = request.routeOptions;
  const bytes = announced === Number.POSITIVE_INFINITY ? bodyLimit : announced;
  return bytes <= IN_FLIGHT_UNCOUNTED_BYTES_MAX || bytes > bodyLimit ? 0 : bytes;
}

/** Whether the caller asked before sending a body (`Expect: 100-continue`) that will be read. */
function isAwaited({ headers, raw, routeOptions }: FastifyRequest, announced: number): boolean {
  if (headers.expect === undefined || raw.httpVersion !== '1.1') return false;
  return announced === Number.POSITIVE_INFINITY || announced <= routeOptions.bodyLimit;
}
