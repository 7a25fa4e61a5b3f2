/** A part of the server that starts and stops with it. A part without `start` is open already. */
export interface Part {
  readonly name: string;
  start?(): Promise<void> | void;
  /** Refuses new work and lets the work under way finish, while all other parts still run. */
  drain?(): Promise<void> | void;
  stop?(): Promise<void> | void;
}

/**
 * Starts the parts in the order of the list. Returns the function that ends them: it drains all parts, then stops all,
 * both in reverse order. If a part cannot start, everything that is open by then is ended before the error is thrown.
 */
export async function startParts(parts: readonly Part[]): Promise<() => Promise<void>> {
  const running = new Set(parts.filter(({ start }) => start === undefined));
  const end = () => endParts(parts.filter((part) => running.has(part)).reverse());
  for (const part of parts) {
    try {
      await part.start?.();
    } catch (error) {
      // The reason why the server did not start matters more than a part that also fails to stop.
      await end().catch(() => undefined);
      throw error;
    }
    running.add(part);
  }
  return end;
}

/** Ends every part, also when another one fails to end; then throws the first error. */
async function endParts(parts: readonly Part[]): Promise<void> {
  const errors: unknown[] = [];
  const attempt = async (step: () => Promise<void> | void) => {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  };
  for (const part of parts) await attempt(() => part.drain?.());
  for (const part of parts) await attempt(() => part.stop?.());
  if (errors.length > 0) throw errors[0];
}
