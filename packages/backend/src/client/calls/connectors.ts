import type { Connector, ConnectorCheck, ConnectorReport } from '@tidemark/protocol';
import { path } from '../../transport/path.ts';
import type { CallOptions, Transport } from '../../transport/transport.ts';

/** A check asks the database about every table. */
const CHECK_TIMEOUT_MS = 120_000;

/** Databases that are connected, see docs/guides/postgres.md. */
export class ConnectorCalls {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** All connectors with their last report, by name. */
  list(options?: CallOptions): Promise<readonly Connector[]> {
    return this.#api.get('/rc/v1/connectors', options);
  }

  get(name: string, options?: CallOptions): Promise<Connector> {
    return this.#api.get(path`/rc/v1/connectors/${name}`, options);
  }

  /** Called by connectors, several times in a minute. */
  report(name: string, report: ConnectorReport, options?: CallOptions): Promise<Connector> {
    return this.#api.put(path`/rc/v1/connectors/${name}`, report, options);
  }

  /** Asks the database of a configured connector what it lacks. */
  check(name: string, options?: CallOptions): Promise<ConnectorCheck> {
    const to = path`/rc/v1/connectors/${name}/check`;
    return this.#api.post(to, {}, 'harmless', { timeoutMs: CHECK_TIMEOUT_MS, ...options });
  }

  /** Forgets a connector that is gone, so that its silence is no fault any more. Its sources and objects stay. */
  delete(name: string, options?: CallOptions): Promise<{ readonly deleted: string }> {
    return this.#api.delete(path`/rc/v1/connectors/${name}`, options);
  }
}
