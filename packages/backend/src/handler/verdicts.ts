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

/**
 * Lets `instanceof` recognise the errors of another copy of this package: a hook of a Postgres mapping throws those of the installed
 * one, while the server may run from a bundle with classes of its own.
 */
function recogniseBy(mark: symbol, root: typeof Conflict | typeof Rejected): void {
  Object.defineProperty(root.prototype, mark, { value: true });
  Object.defineProperty(root, Symbol.hasInstance, {
    value(this: unknown, error: unknown): boolean {
      // A class that extends the root inherits this, and has only its own instances.
      if (this !== root) return Function.prototype[Symbol.hasInstance].call(this as () => void, error);
      return typeof error === 'object' && error !== null && mark in error;
    },
  });
}

recogniseBy(Symbol.for('tidemark.Conflict'), Conflict);
recogniseBy(Symbol.for('tidemark.Rejected'), Rejected);
