import type { AuditFact } from '@tidemark/protocol';
import { everyItem, type PageOptions, pageQuery } from '../paging.ts';
import type { CallOptions, Transport } from '../transport.ts';

/** Who did what, newest first. */
export class AuditCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  list(page: PageOptions = {}): Promise<readonly AuditFact[]> {
    return this.#api.get('/rc/v1/audit', page, pageQuery(page));
  }

  every(options?: CallOptions): AsyncGenerator<AuditFact, void> {
    return everyItem(
      (page) => this.list(page),
      ({ id }) => id,
      options,
    );
  }
}
