/** Bugs that `npm run chaos -- --plant` puts into the servers of a run, to show that it finds them. */
export const PLANT_NAMES = ['ack-before-commit', 'token-before-delivery', 'revoked-group'] as const;
export type PlantName = (typeof PLANT_NAMES)[number];
