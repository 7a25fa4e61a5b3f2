import type { Reporter } from 'vitest/node';

/** Prints the dearest test files after a run. */
export class CostReporter implements Reporter {
  onTestRunStart(): void;
  onTestRunEnd(): void;
}
