/** What is told to the device is for a person to read; the rest is cut off. */
export const REASON_UNITS_MAX = 1_000;

/**
 * Throw it when somebody else has changed the object meanwhile: the device is told, shows the current state, and lets its
 * user decide. Answered as 409.
 */
export class Conflict extends Error {
  override readonly name = 'Conflict';
}

/**
 * Throw it when the change is against the rules, now and whenever it is tried again. The device is told the reason, in
 * the words given here, and takes the change back. Answered as 422.
 */
export class Rejected extends Error {
  override readonly name = 'Rejected';
}
