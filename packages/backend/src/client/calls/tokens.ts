import type { NewToken, Revoked, Token, TokenList } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';

export interface TokenRequest {
  readonly name: string;
  readonly scopes: readonly ('admin' | 'admin:reset' | 'read' | 'push' | 'device')[];
  /** A time such as `2030-01-31T12:00:00Z`. Null or absent: the token does not expire. */
  readonly expires_at?: string | null;
  /** The user of the token. Absent: the caller. */
  readonly user?: string;
}

/** Which tokens to list. */
export interface TokenFilter extends PageOptions {
  /** Only tokens whose id, name, user, scopes or device contain the text. */
  readonly text?: string;
  /** `named`: only tokens that were made with a name; `session`: only those of logins. */
  readonly kind?: 'named' | 'session';
}

/** Tokens of the API. */
export class TokenCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  list(page: PageOptions = {}): Promise<readonly Token[]> {
    return this.#api.get('/rc/v1/tokens', page, pageQuery(page));
  }

  /** One page of tokens that match. With filters it may be short or empty; `next` is `after` of the next page. */
  details({ text, kind, ...page }: TokenFilter = {}): Promise<TokenList> {
    return this.#api.get('/rc/v1/token_details', page, { ...pageQuery(page), text, kind });
  }

  every(options?: CallOptions): AsyncGenerator<Token, void> {
    return everyItem(
      (page) => this.list(page),
      ({ id }) => id,
      options,
    );
  }

  /** Only this answer holds the token itself. */
  create(request: TokenRequest, options?: CallOptions): Promise<NewToken> {
    return this.#api.post('/rc/v1/tokens', request, 'harmful', options);
  }

  revoke(tokenId: string, options?: CallOptions): Promise<Revoked> {
    return this.#api.delete(path`/rc/v1/tokens/${tokenId}`, options);
  }
}
