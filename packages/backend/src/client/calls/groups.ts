import type { GroupDetails, GroupMembersReport, UserGroups } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';

/** Groups and their members. A group is a name; it exists while it has members. */
export class GroupCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** One page of the groups that have members, sorted. */
  list(page: PageOptions = {}): Promise<readonly string[]> {
    return this.#api.get('/rc/v1/groups', page, pageQuery(page));
  }

  /** One page of the groups that have members, sorted, with how many they have. */
  details(page: PageOptions = {}): Promise<readonly GroupDetails[]> {
    return this.#api.get('/rc/v1/group_details', page, pageQuery(page));
  }

  /** All groups that have members, fetched as they are asked for. */
  every(options?: CallOptions): AsyncGenerator<string, void> {
    return everyItem(
      (page) => this.list(page),
      (group) => group,
      options,
    );
  }

  /** One page of the logins of the members, sorted. */
  members(group: string, page: PageOptions = {}): Promise<readonly string[]> {
    return this.#api.get(path`/rc/v1/groups/${group}/members`, page, pageQuery(page));
  }

  /** All logins of the members, fetched as they are asked for. */
  everyMember(group: string, options?: CallOptions): AsyncGenerator<string, void> {
    return everyItem(
      (page) => this.members(group, page),
      (login) => login,
      options,
    );
  }

  /** Makes exactly these users the members of a group. Repeat the call if it fails. */
  setMembers(group: string, members: readonly string[], options?: CallOptions): Promise<GroupMembersReport> {
    return this.#api.put(path`/rc/v1/groups/${group}/members`, { members }, options);
  }

  /** The groups of a user. */
  of(login: string, options?: CallOptions): Promise<UserGroups> {
    return this.#api.get(path`/rc/v1/users/${login}/groups`, options);
  }

  /** Makes the user a member of exactly these groups. */
  set(login: string, groups: readonly string[], options?: CallOptions): Promise<UserGroups> {
    return this.#api.put(path`/rc/v1/users/${login}/groups`, { groups }, options);
  }

  add(login: string, groups: readonly string[], options?: CallOptions): Promise<UserGroups> {
    return this.#api.post(path`/rc/v1/users/${login}/groups`, { groups }, 'harmless', options);
  }

  remove(login: string, group: string, options?: CallOptions): Promise<UserGroups> {
    return this.#api.delete(path`/rc/v1/users/${login}/groups/${group}`, options);
  }
}
