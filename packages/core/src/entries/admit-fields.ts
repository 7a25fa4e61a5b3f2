import { pointer, Refusal } from '@tidemark/protocol';

/** Returns the members of an object from a request. The key `__proto__` is refused. */
export function admitFields(value: unknown, path: readonly string[]): readonly (readonly [string, unknown])[] {
  const at = pointer(...path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const where = path.length === 0 ? 'the request' : at;
    throw new Refusal('invalid_request', `${where} must be an object`, [{ pointer: at, detail: 'must be an object' }]);
  }
  const fields = Object.entries(value);
  if (fields.some(([name]) => name === '__proto__')) {
    const detail = 'the key "__proto__" is not allowed';
    throw new Refusal('forbidden_key', detail, [{ pointer: at, detail }]);
  }
  return fields;
}
