import { ClientListing } from './client-list.ts';
import { TokenListing } from './token-list.ts';
import { UserListing, type UserListingParts } from './user-list.ts';

/** The listings with details, for people who look after the server. */
export class Listings {
  readonly clients: ClientListing;
  readonly tokens: TokenListing;
  readonly users: UserListing;

  constructor(parts: UserListingParts) {
    this.clients = new ClientListing(parts);
    this.tokens = new TokenListing(parts);
    this.users = new UserListing(parts);
  }
}
