import { isUtf8 } from 'node:buffer';
import { Refusal } from '@tidemark/protocol';
import { BODY_DEPTH_MAX, OBJECT_MEMBERS_MAX, PARSE_STRETCH_BYTES } from '../edge-limits.ts';
import { EnvelopeNames } from './envelope-names.ts';
import { parseInStretches } from './parse-in-stretches.ts';

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * The one parser of request bodies: what it answers is what is checked and what is used. Large bodies are parsed a
 * stretch at a time, and everybody else gets their turn in between.
 */
export async function parseJsonBody(bytes: Buffer, objectMembersMax = OBJECT_MEMBERS_MAX): Promise<unknown> {
  if (bytes.length === 0) throw new Refusal('invalid_json', 'the body is empty; send at least {}');
  if (!isUtf8(bytes)) throw new Refusal('invalid_json', 'the body is not UTF-8');
  if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    throw new Refusal('invalid_json', 'the body begins with a byte order mark');
  }
  const names = new EnvelopeNames();
  const parsing = parseInStretches(bytes, {
    stretchBytes: PARSE_STRETCH_BYTES,
    depthMax: BODY_DEPTH_MAX,
    objectMembersMax,
    onName: names.note,
  });
  for (;;) {
    const { done, value } = parsing.next();
    if (done === true) {
      names.requireSingle();
      return value;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
