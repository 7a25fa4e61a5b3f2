/** The longest reason sent to a device; longer ones are cut off. */
export const REASON_UNITS_MAX = 1_000;

/**
 * Throw this when somebody else has changed the object meanwhile. The device shows the current state and lets its user
 * decide. Answered as 409.
 */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/**
 * Throw this when the change is not allowed, now or later. The device gets the reason and undoes the change. Answered as
 * 422.
 */
export class Rejected extends Error {
  override readonly name = 'Rejected';
}
