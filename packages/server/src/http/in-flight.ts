import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance, FastifyRequest, preParsingHookHandler } from 'fastify';
import { IN_FLIGHT_BYTES_MAX, IN_FLIGHT_UNCOUNTED_BYTES_MAX } from '../edge-limits.ts';

const RETRY_AFTER_S = 1;
/** The methods whose bodies the framework never reads. */
const BODYLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'TRACE']);

/** Bounds what bodies together take of the memory. Asked after authentication: strangers cannot take up the room. */
export function boundBodiesInFlight(app: FastifyInstance, bodyBytesMax: number): void {
  let inFlight = 0;
  const admit: preParsingHookHandler = (request, reply, _payload, done) => {
    const bytes = announcedBytes(request, bodyBytesMax);
    // What is too large is refused without being read.
    if (bytes <= IN_FLIGHT_UNCOUNTED_BYTES_MAX || bytes > bodyBytesMax) return done();
    if (inFlight > 0 && inFlight + bytes > IN_FLIGHT_BYTES_MAX) {
      return done(new Refusal('overloaded', 'too many large bodies are being worked on at once', [], RETRY_AFTER_S));
    }
    inFlight += bytes;
    // However the request ends, also when the caller hangs up in the middle.
    reply.raw.once('close', () => {
      inFlight -= bytes;
    });
    done();
  };
  app.addHook('onRoute', (route) => {
    // Where no body is read, none takes up room.
    if ([route.method].flat().some((method) => !BODYLESS.has(method))) route.preParsing = admit;
  });
}

function announcedBytes({ headers }: FastifyRequest, bodyBytesMax: number): number {
  // Whoever sends in chunks does not say how much.
  if (headers['transfer-encoding'] !== undefined) return bodyBytesMax;
  return Number(headers['content-length'] ?? 0);
}
