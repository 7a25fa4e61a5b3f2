import type { Ping, PingWithResults } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';

/** Results of pings. `users.ping` sends them. */
export class PingCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** Newest first. */
  list(page: PageOptions = {}): Promise<readonly Ping[]> {
    return this.#api.get('/rc/v1/pings', page, pageQuery(page));
  }

  every(options?: CallOptions): AsyncGenerator<Ping, void> {
    return everyItem(
      (page) => this.list(page),
      ({ ping_id }) => ping_id,
      options,
    );
  }

  /** One ping with a page of its results, by client id. */
  get(pingId: string, page: PageOptions = {}): Promise<PingWithResults> {
    return this.#api.get(path`/rc/v1/pings/${pingId}`, page, pageQuery(page));
  }
}
