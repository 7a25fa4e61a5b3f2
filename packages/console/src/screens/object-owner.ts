import type { ObjectOwner } from '../api/object-pages.ts';

/** The options of a push to an owner. */
export function ownerOptions(owner: ObjectOwner): { readonly user?: string } {
  return 'user' in owner ? { user: owner.user } : {};
}

/** The part of the body of a push that names the owner. */
export function ownerBody(owner: ObjectOwner): { readonly user_id?: string } {
  return 'user' in owner ? { user_id: owner.user } : {};
}
