import { quoted } from '../api/curl.ts';
import type { ObjectOwner } from '../api/object-pages.ts';

/** The options of a push to an owner. */
export function ownerOptions(owner: ObjectOwner): { readonly user?: string; readonly group?: string } {
  if ('user' in owner) return { user: owner.user };
  return 'group' in owner ? { group: owner.group } : {};
}

/** The part of the body of a push that names the owner. */
export function ownerBody(owner: ObjectOwner): { readonly user_id?: string; readonly group?: string } {
  return 'user' in owner ? { user_id: owner.user } : ownerOptions(owner);
}

/** How the command line names the owner, with a space before it. */
export function ownerFlag(owner: ObjectOwner): string {
  if ('user' in owner) return ` --user ${quoted(owner.user)}`;
  return 'group' in owner ? ` --group ${quoted(owner.group)}` : '';
}
