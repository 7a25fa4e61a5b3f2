import { pointer, Refusal } from '@tidemark/protocol';

/** Refuses a list of a call that has more than `max` members. */
export function requireCount(count: number, max: number, field: string): void {
  if (count <= max) return;
  const detail = `${count} are more than the ${max} allowed`;
  throw new Refusal('limit_exceeded', `${field}: ${detail}`, [{ pointer: pointer(field), detail }]);
}
