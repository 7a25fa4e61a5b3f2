/**
 * Whether the long run is under way, in which tests try more of the same. `scripts/test-files.mjs` names the test files that
 * ask, so that `npm run test:long` includes them.
 */
export const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
