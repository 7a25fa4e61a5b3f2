import type { FastifyReply } from 'fastify';
import { JsonText, TextAnswer } from './route.ts';

/** Up to here a string leaves together with the headers in one piece; beyond, bytes cost less than half. */
const STRING_UNITS_MAX = 16_384;

/** Sends what a handler answered. */
export function sendAnswer(reply: FastifyReply, answer: unknown): FastifyReply {
  reply.code(200).header('cache-control', 'no-store');
  if (answer instanceof TextAnswer) {
    return reply
      .type('text/plain; charset=utf-8')
      .header('x-content-type-options', 'nosniff')
      .send(payloadOf(answer.text));
  }
  const json = answer instanceof JsonText ? answer.text : JSON.stringify(answer);
  return reply.type('application/json; charset=utf-8').send(payloadOf(json));
}

function payloadOf(text: string): string | Buffer {
  return text.length <= STRING_UNITS_MAX ? text : Buffer.from(text);
}
