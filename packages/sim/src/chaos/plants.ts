/** Bugs that `--plant` of `npm run sim -- chaos` and `npm run sim -- servers` puts into the servers of a run, to show that it finds them. */
export const PLANT_NAMES = [
  ...(['ack-before-commit', 'token-before-delivery', 'revoked-group', 'torn-batch'] as const),
  // Only a store with a network in front of it can have this one.
  'late-write',
  // Only a calm run can see this one.
  'ignored-lease',
] as const;
export type PlantName = (typeof PLANT_NAMES)[number];
