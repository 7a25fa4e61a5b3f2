import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Refusal } from '@tidemark/protocol';
import type { FastifyReply } from 'fastify';
import { encodeLines, encodeParts, smallText } from './coding/encode-parts.ts';
import { type Coding, codingFor } from './coding/negotiate-coding.ts';
import { bytesOf, type Piece, SHARED_BYTES_MIN, type TextPart } from './coding/text-parts.ts';
import { exchangeOf } from './exchange.ts';
import { EventStream, JsonLines, JsonParts, JsonText, TextAnswer } from './route.ts';

/** Up to here the pieces of an answer are joined: one write costs less than several. */
const JOINED_BYTES_MAX = 16_384;
/** Small pieces of a stream that may wait to be sent. */
const UNSENT_BYTES_MAX = 65_536;

/** Up to here a string leaves together with the headers in one piece; beyond, bytes cost less than half. */
const STRING_UNITS_MAX = 16_384;

/**
 * Sends what a handler answered, or ends the lines it holds when nobody is there any more. A promise comes back only
 * where something must be waited for before it can be sent.
 */
export function sendAnswer(reply: FastifyReply, answer: unknown): Promise<void> | undefined {
  if (exchangeOf(reply.raw).isSpent) return answer instanceof JsonLines ? endLines(reply, answer.lines) : undefined;
  reply.code(200).header('cache-control', 'no-store');
  if (answer instanceof JsonParts) return sendParts(reply, answer);
  if (answer instanceof JsonLines) return sendLines(reply, answer);
  if (answer instanceof EventStream) return handOver(reply, answer);
  if (answer instanceof TextAnswer) {
    reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(payloadOf(answer.text));
    return undefined;
  }
  const json = answer instanceof JsonText ? answer.text : JSON.stringify(answer);
  reply.type('application/json; charset=utf-8').send(payloadOf(json));
  return undefined;
}

/** Asks for one line and for no more: what an iterator holds is released when it ends, and only one that began can end. */
function endLines(reply: FastifyReply, lines: AsyncIterable<unknown>): undefined {
  const end = async () => {
    for await (const _line of lines) return;
  };
  end().catch((error: unknown) => logFailedStream(reply, error));
}

function sendParts(reply: FastifyReply, { parts }: JsonParts): Promise<void> | undefined {
  const small = smallText(parts, reply.request.headers['accept-encoding']);
  if (small === null) return sendEncoded(reply, parts);
  codedAs(reply, 'identity').type('application/json; charset=utf-8').send(small);
  return undefined;
}

async function sendEncoded(reply: FastifyReply, parts: readonly TextPart[]): Promise<void> {
  const { pieces, coding } = await encodeParts(parts, reply.request.headers['accept-encoding']);
  if (exchangeOf(reply.raw).isSpent) return;
  codedAs(reply, coding).type('application/json; charset=utf-8');
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  if (bytes <= JOINED_BYTES_MAX) return void reply.send(Buffer.concat(pieces.map(bytesOf)));
  // Pages that others have been sent as well leave from where they are: joining them would copy most of the answer.
  reply.header('content-length', bytes).hijack();
  const { raw } = reply;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  raw.cork();
  for (const piece of pieces.slice(0, -1)) raw.write(piece);
  raw.end(pieces.at(-1));
}

function sendLines(reply: FastifyReply, { lines, onEnd }: JsonLines): undefined {
  // A response that is destroyed already tells nobody of its end any more.
  if (reply.raw.destroyed) onEnd();
  else reply.raw.once('close', onEnd);
  const coding = codingFor(reply.request.headers['accept-encoding']);
  codedAs(reply, coding).type('application/x-ndjson; charset=utf-8');
  if (isHead(reply)) {
    reply.send();
    return endLines(reply, lines);
  }
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  writeAll(raw, encodeLines(lines, coding)).catch((error: unknown) => {
    logFailedStream(reply, error);
    // What has left cannot be taken back: a body that does not end is all that is left to say.
    raw.destroy();
  });
}

function logFailedStream({ request: { log, id: request_id } }: FastifyReply, error: unknown): void {
  if (error instanceof Refusal) log.info({ code: error.code, request_id }, 'a stream was refused on its way');
  else log.error({ err: error, request_id }, 'a stream failed');
}

/**
 * Writes pieces that come together in one go. Waits until large ones have been handed to the operating system before it
 * asks for the next, so that a slow reader holds one line in memory. Small ones leave with what follows.
 */
async function writeAll(raw: ServerResponse, lines: AsyncIterable<readonly Piece[]>): Promise<void> {
  let goOn = () => {};
  const exchange = exchangeOf(raw);
  exchange.onOver(() => goOn());
  for await (const pieces of lines) {
    if (exchange.isSpent) return;
    const isLarge = pieces.some(({ length }) => length >= SHARED_BYTES_MIN) || raw.writableLength >= UNSENT_BYTES_MAX;
    if (!isLarge) for (const piece of pieces) raw.write(piece);
    else {
      await new Promise<void>((resolve) => {
        goOn = resolve;
        writeTogether(raw, pieces, resolve);
      });
    }
    // Before the next are asked for: nobody is there to read them.
    if (exchange.isSpent) return;
  }
  raw.end();
}

function writeTogether(raw: ServerResponse, pieces: readonly Piece[], onSent: () => void): void {
  raw.cork();
  for (const piece of pieces.slice(0, -1)) raw.write(piece);
  raw.write(pieces.at(-1) ?? '', () => onSent());
  raw.uncork();
}

function codedAs(reply: FastifyReply, coding: Coding): FastifyReply {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`);
  return coding === 'identity' ? reply : reply.header('content-encoding', coding);
}

/**
 * The framework lets go of the response. Without a length and without chunks the stream ends with its connection, so
 * what is written to many connections can be the same bytes.
 */
function handOver(reply: FastifyReply, { take }: EventStream): undefined {
  reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no');
  if (isHead(reply)) return void reply.send();
  reply.hijack();
  const { raw } = reply;
  raw.shouldKeepAlive = false;
  raw.removeHeader('transfer-encoding');
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  exchangeOf(raw).onOver(take(raw));
}

function isHead(reply: FastifyReply): boolean {
  return reply.request.method === 'HEAD';
}

function payloadOf(text: string): string | Buffer {
  return text.length <= STRING_UNITS_MAX ? text : Buffer.from(text);
}
