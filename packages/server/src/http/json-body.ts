import { Refusal } from '@tidemark/protocol';
import { readEnvelope } from './envelope-keys.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** From this size on, others get their turn between the steps. */
const LARGE_BYTES = 500_000;
/**
 * Nesting of a whole body. Values are bounded more tightly where they are admitted; this keeps the parser itself from
 * making millions of lists, and lies above every bound that an operator can set there.
 */
const BODY_DEPTH_MAX = 1_024;

/** The one parser of request bodies: what it answers is what is checked and what is used. */
export async function parseJsonBody(bytes: Uint8Array): Promise<unknown> {
  const text = decoded(bytes);
  const { doubled, isTooDeep } = readEnvelope(text, BODY_DEPTH_MAX);
  if (isTooDeep) throw new Refusal('too_deep', `the body is nested deeper than ${BODY_DEPTH_MAX}`);
  if (bytes.length >= LARGE_BYTES) await new Promise((resolve) => setImmediate(resolve));
  const value = parsed(text);
  if (doubled !== null)
    throw new Refusal('invalid_json', `the field ${JSON.stringify(doubled.slice(0, 80))} stands twice`);
  if (bytes.length >= LARGE_BYTES) await new Promise((resolve) => setImmediate(resolve));
  return value;
}

function decoded(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Refusal('invalid_json', 'the body is not UTF-8');
  }
}

function parsed(text: string): unknown {
  if (text === '') throw new Refusal('invalid_json', 'the body is empty; send at least {}');
  if (text.startsWith('\ufeff')) throw new Refusal('invalid_json', 'the body begins with a byte order mark');
  try {
    return JSON.parse(text);
  } catch {
    // What the parser says may repeat parts of the body, which may be a secret.
    throw new Refusal('invalid_json', 'the body is not JSON');
  }
}
