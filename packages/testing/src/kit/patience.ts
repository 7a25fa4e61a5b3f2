/**
 * Ends a wait that hangs; it does not measure speed. What tests wait for takes seconds at most, on a busy machine ten times as
 * long. It is shorter than the time-out of a test, so that the failure says what the test waited for.
 */
export const PATIENCE_MS = 120_000;
