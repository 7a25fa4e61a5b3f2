/** Data with one owner, as the REST API names it: a user, a group, or nobody, for data that all users share. */
export interface ChaosPartition {
  readonly source: string;
  readonly user_id?: string;
  readonly group?: string;
}

export const USERS = ['anna', 'bela', 'cleo'] as const;
export const GROUPS = ['north', 'south', 'east'] as const;
export const USER_PASSWORD = 'a password for devices';

export const PRODUCT: ChaosPartition = { source: 'Product' };

/** What pushers write to. */
export const PUSHED: readonly ChaosPartition[] = [
  PRODUCT,
  ...USERS.map((user) => ({ source: 'Order', user_id: user })),
  ...GROUPS.map((group) => ({ source: 'Visit', group })),
];

/** Sources with a backend: uploads to the second one are left to a queue. */
export const BACKED = ['Task', 'Trip'] as const;
/** Sources to which devices upload: without and with a backend. */
export const UPLOADED = ['Order', ...BACKED] as const;
export type UploadedSource = (typeof UPLOADED)[number];

export const SOURCES = ['Product', 'Order', 'Visit', ...BACKED] as const;

/** Documents of the server that are written without an expectation: the last write to arrive wins. */
export const DOCUMENTS = ['register-0', 'register-1'] as const;

/** The name of the owner; it is part of all ids and attributes, so that a device can tell whose data it shows. */
export function ownerOf({ user_id: user, group }: ChaosPartition): string {
  return group ?? user ?? 'everybody';
}

export function partitionName(partition: ChaosPartition): string {
  return `${partition.source} of ${ownerOf(partition)}`;
}

/** The path of the document with all objects. */
export function documentPath({ source, user_id: user, group }: ChaosPartition): string {
  const owner = group === undefined ? `users/${user ?? '*'}` : `groups/${group}`;
  return `/rc/v1/${owner}/sources/${source}/docs/md`;
}
