import type { Client } from '@tidemark/protocol';
import { path } from '../path.ts';
import type { CallOptions, Transport } from '../transport.ts';

/** Devices. Those of a user are listed and deleted with the user. */
export class ClientCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  get(client: string, options?: CallOptions): Promise<Client> {
    return this.#api.get(path`/rc/v1/clients/${client}`, options);
  }
}
