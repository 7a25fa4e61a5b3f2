import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Refusal } from '@tidemark/protocol';
import type { FastifyReply } from 'fastify';
import { encodeLines, encodeParts, smallText } from './coding/encode-parts.ts';
import { type Coding, codingFor } from './coding/negotiate-coding.ts';
import { bytesOf, freeParts, type Piece, SHARED_BYTES_MIN, type TextPart } from './coding/text-parts.ts';
import { exchangeOf } from './exchange.ts';
import { rememberAnswer } from './repeated-answers.ts';
import {
  BytesAnswer,
  CookieAnswer,
  EventStream,
  FileAnswer,
  JsonLines,
  JsonParts,
  JsonText,
  TextAnswer,
} from './route.ts';

/** Up to this size the pieces of an answer are joined, because one write costs less than several. */
const JOINED_BYTES_MAX = 16_384;
/** Bytes of small pieces that may be buffered in a stream. */
const UNSENT_BYTES_MAX = 65_536;

/** Up to this length a string is sent together with the headers; for longer ones a buffer costs less than half. */
const STRING_UNITS_MAX = 16_384;

/**
 * Sends the result of a handler. If the caller is gone, it only ends the lines the result holds. Returns a promise
 * only if it has to wait before it can send.
 */
export function sendAnswer(reply: FastifyReply, answer: unknown): Promise<void> | undefined {
  if (exchangeOf(reply.raw).isOver) return endUnsent(reply, answer);
  if (answer instanceof CookieAnswer) return sendAnswer(reply.header('set-cookie', answer.cookies), answer.answer);
  reply.code(200).header('cache-control', 'no-store');
  if (answer instanceof JsonParts) return sendParts(reply, answer);
  if (answer instanceof JsonLines) return sendLines(reply, answer);
  if (answer instanceof FileAnswer) return sendFile(reply, answer);
  if (answer instanceof BytesAnswer) return sendBytes(reply, answer);
  if (answer instanceof EventStream) return streamEvents(reply, answer);
  if (answer instanceof TextAnswer) {
    reply.type('text/plain; charset=utf-8').header('x-content-type-options', 'nosniff').send(payloadOf(answer.text));
    return undefined;
  }
  const json = answer instanceof JsonText ? answer.text : JSON.stringify(answer);
  reply.type('application/json; charset=utf-8').send(payloadOf(json));
  return undefined;
}

/** Releases what an answer holds that nobody waits for. */
function endUnsent(reply: FastifyReply, answer: unknown): undefined {
  if (answer instanceof FileAnswer || answer instanceof BytesAnswer) answer.onEnd();
  if (answer instanceof JsonLines) return endLines(reply, answer.lines);
}

/** Reads one line, then ends the iterator: only an iterator that has started releases what it holds. */
function endLines(reply: FastifyReply, lines: AsyncIterable<unknown>): undefined {
  const end = async () => {
    for await (const _line of lines) return;
  };
  end().catch((error: unknown) => logFailedStream(reply, error));
}

function sendParts(reply: FastifyReply, { parts, repeatable }: JsonParts): Promise<void> | undefined {
  const small = smallText(parts, reply.request.headers['accept-encoding']);
  if (small === null) return sendEncoded(reply, parts);
  withCoding(reply, 'identity').type('application/json; charset=utf-8').send(small);
  if (repeatable !== null) rememberAnswer(reply, small, repeatable);
  return undefined;
}

async function sendEncoded(reply: FastifyReply, parts: readonly TextPart[]): Promise<void> {
  const { pieces, coding } = await encodeParts(parts, reply.request.headers['accept-encoding']);
  if (coding !== 'identity') freeParts(parts);
  if (exchangeOf(reply.raw).isOver) return;
  withCoding(reply, coding).type('application/json; charset=utf-8');
  const bytes = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  if (bytes <= JOINED_BYTES_MAX) return void reply.send(Buffer.concat(pieces.map(bytesOf)));
  // Shared pages are written without joining them, which would copy most of the answer.
  reply.header('content-length', bytes).hijack();
  const { raw } = reply;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  raw.cork();
  for (const piece of pieces.slice(0, -1)) raw.write(piece);
  const { socket } = raw.req;
  raw.end(pieces.at(-1), () => {
    // A socket that was torn down may have answered without having sent everything.
    if (!socket.destroyed) freeParts(parts);
  });
}

function sendLines(reply: FastifyReply, { lines, onEnd }: JsonLines): undefined {
  // A destroyed response emits no `close` any more.
  if (reply.raw.destroyed) onEnd();
  else reply.raw.once('close', onEnd);
  const coding = codingFor(reply.request.headers['accept-encoding']);
  withCoding(reply, coding).type('application/x-ndjson; charset=utf-8');
  if (isHead(reply)) {
    reply.send();
    return endLines(reply, lines);
  }
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  writeAll(raw, encodeLines(lines, coding)).catch((error: unknown) => {
    logFailedStream(reply, error);
    // The status has been sent already, so a body without an end is the only way to report the error.
    raw.destroy();
  });
}

function sendFile(reply: FastifyReply, { name, bytes, chunks, onEnd }: FileAnswer): undefined {
  exchangeOf(reply.raw).onOver(onEnd);
  reply
    .type('application/x-tar')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('x-content-type-options', 'nosniff')
    .header('content-length', bytes);
  if (isHead(reply)) return void reply.send();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
  writeAll(raw, inPieces(chunks)).catch((error: unknown) => {
    logFailedStream(reply, error);
    raw.destroy();
  });
}

function sendBytes(reply: FastifyReply, { status, headers, chunks, onEnd }: BytesAnswer): undefined {
  exchangeOf(reply.raw).onOver(onEnd);
  reply.code(status).headers(headers);
  if (chunks === null && !isHead(reply)) return void reply.send();
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(status, reply.getHeaders() as OutgoingHttpHeaders);
  // The framework would say that the file is empty.
  if (chunks === null || isHead(reply)) return void raw.end();
  writeAll(raw, inPieces(chunks)).catch((error: unknown) => {
    logFailedStream(reply, error);
    raw.destroy();
  });
}

async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<readonly Piece[]> {
  for await (const chunk of chunks) yield [Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)];
}

function logFailedStream({ request: { log, id: request_id } }: FastifyReply, error: unknown): void {
  if (error instanceof Refusal) log.info({ code: error.code, request_id }, 'a stream was aborted by a refusal');
  else log.error({ err: error, request_id }, 'a stream failed');
}

/**
 * Writes the pieces of a line together. Waits until large pieces have been handed to the operating system before it
 * asks for the next line, so that a slow reader holds one line in memory. Small pieces are buffered.
 */
async function writeAll(raw: ServerResponse, lines: AsyncIterable<readonly Piece[]>): Promise<void> {
  let resume = () => {};
  const exchange = exchangeOf(raw);
  exchange.onOver(() => resume());
  for await (const pieces of lines) {
    if (exchange.isOver) return;
    const isLarge = pieces.some(({ length }) => length >= SHARED_BYTES_MIN) || raw.writableLength >= UNSENT_BYTES_MAX;
    if (!isLarge) for (const piece of pieces) raw.write(piece);
    else {
      await new Promise<void>((resolve) => {
        resume = resolve;
        writeTogether(raw, pieces, resolve);
      });
    }
    // The caller is gone, so the next line must not be read.
    if (exchange.isOver) return;
  }
  raw.end();
}

function writeTogether(raw: ServerResponse, pieces: readonly Piece[], onSent: () => void): void {
  raw.cork();
  for (const piece of pieces.slice(0, -1)) raw.write(piece);
  raw.write(pieces.at(-1) ?? '', () => onSent());
  raw.uncork();
}

function withCoding(reply: FastifyReply, coding: Coding): FastifyReply {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'accept-encoding' : `${String(vary)}, accept-encoding`);
  return coding === 'identity' ? reply : reply.header('content-encoding', coding);
}

/**
 * Takes the response away from the framework. The stream has neither length nor chunks and ends with its connection,
 * so the same bytes can be written to many connections.
 */
function streamEvents(reply: FastifyReply, { take }: EventStream): undefined {
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
