import { createHash } from 'node:crypto';
import { type ApiDocument, endpointsOf, resolved } from '../conformance/api-document.ts';

/** What people read, and what only names a schema: none of it is on the wire. */
const WORDS: ReadonlySet<string> = new Set([
  ...['description', 'example', 'examples', 'operationId', 'summary', 'tags', 'title'],
]);
/** Lists whose order has no meaning. */
const SETS: ReadonlySet<string> = new Set(['enum', 'required']);
const PART_CHARACTERS = 16;
const CALL_CHARACTERS = 8;

/**
 * Reports what an OpenAPI document says about the wire: a hash of all calls, and one of each, so that a difference names the
 * calls that have changed.
 */
export function wireReport(title: string, document: ApiDocument): string {
  const calls = endpointsOf(document).map(({ method, template, operation }) => {
    const text = JSON.stringify(wireOf(document, operation));
    return { name: `${method} ${template}`, text };
  });
  const sorted = calls.sort((left, right) => (left.name < right.name ? -1 : 1));
  const lines = sorted.map(({ name, text }) => `  ${name} ${hash(text, CALL_CHARACTERS)}`);
  return [`${title}: ${hash(JSON.stringify(sorted), PART_CHARACTERS)}`, ...lines].join('\n');
}

/** The part of a document that is on the wire, in one order, with all references resolved. */
function wireOf(document: ApiDocument, node: unknown, isNames = false): unknown {
  if (Array.isArray(node)) return node.map((item) => wireOf(document, item));
  if (typeof node !== 'object' || node === null) return node;
  const { $ref } = node as { readonly $ref?: unknown };
  if (typeof $ref === 'string') {
    const place = $ref.replace(/^#\//, '').split('/');
    return wireOf(document, resolved(document, place).value);
  }
  const members = Object.entries(node).filter(([name]) => isNames || !WORDS.has(name));
  const wire = members.map(([name, member]) => {
    if (!isNames && SETS.has(name) && Array.isArray(member)) return [name, [...member].sort()];
    return [name, wireOf(document, member, !isNames && name === 'properties')];
  });
  return Object.fromEntries(wire.sort(([left], [right]) => (String(left) < String(right) ? -1 : 1)));
}

function hash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
}
