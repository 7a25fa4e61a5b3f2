/** The first character of the owner of a custom partition. Logins hold no control characters, so none looks like one. */
export const CUSTOM_OWNER_MARK = '\u001f';

/** Whether the owner in the key of a partition is a group or a custom partition rather than a user. */
export function isCustomOwner(owner: string | null): owner is string {
  return owner?.startsWith(CUSTOM_OWNER_MARK) ?? false;
}
