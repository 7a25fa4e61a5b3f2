/**
 * Parts of the paths of the test files that `npm run test:long` runs: those that `npm test` leaves out, and those that try
 * thousands of simulated histories and random requests where `npm test` tries tens.
 */
export const LONG_TESTS = [
  '.long.test.',
  'console/src/accessibility.test',
  'sim/src/histories/',
  'sim/src/groups/',
  'sim/src/sdk/',
  'sim/src/uploads/',
  'sim/src/postgres/',
  'sim/src/devices/',
  'sim/src/files/',
  'server/src/conformance.test',
  'server/src/fuzz.test',
  'server/src/hardening/login.test',
  'server/src/hardening/stops.test',
  'sqlite/src/damaged-device.test',
  'store-embedded/src/histories.test',
  'store-embedded/src/processes.test',
  'store-valkey/src/valkey-cluster.test',
];
