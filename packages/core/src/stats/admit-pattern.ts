import { GLOB_STARS_MAX, GLOB_UNITS_MAX, pointer, Refusal } from '@tidemark/protocol';

/** A pattern for the names of metrics. */
export function admitPattern(pattern: unknown): string {
  if (typeof pattern !== 'string') throw refuse('invalid_request', 'must be a string');
  if (pattern.length > GLOB_UNITS_MAX)
    throw refuse('invalid_value', `must not be longer than ${GLOB_UNITS_MAX} characters`);
  if (pattern.split('*').length - 1 > GLOB_STARS_MAX) {
    throw refuse('invalid_value', `must not have more than ${GLOB_STARS_MAX} stars`);
  }
  return pattern;
}

function refuse(code: 'invalid_request' | 'invalid_value', detail: string): Refusal {
  return new Refusal(code, `names ${detail}`, [{ pointer: pointer('names'), detail }]);
}
