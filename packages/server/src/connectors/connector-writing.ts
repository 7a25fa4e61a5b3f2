import type { Log } from '@tidemark/core';
import type { RowBackend } from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import type { ConnectorConfig } from '../config/read-connectors.ts';
import type { ConnectorHostParts } from './connector-host-parts.ts';
import { inProcessClient } from './in-process-client.ts';
import { rowAdapter } from './row-adapter.ts';

/**
 * Makes what devices change in the database of a connector. Every server does, also while another one runs the connector: the
 * operations that the database keeps make each change happen once.
 */
export class ConnectorWriting {
  readonly #config: ConnectorConfig;
  readonly #parts: ConnectorHostParts;
  #opened: Promise<{ readonly rows: RowBackend; readonly close: () => Promise<void> }> | null = null;

  constructor(config: ConnectorConfig, parts: ConnectorHostParts) {
    this.#config = config;
    this.#parts = parts;
  }

  /** Lets sources name the connector as their adapter. */
  start(): void {
    this.#parts.adapters.set(
      this.#config.name,
      rowAdapter(async () => (await this.#open()).rows),
    );
  }

  /** The connector runs in this server, and everything up to the position is durable. */
  notePosition(position: string): void {
    void this.#opened?.then(({ rows }) => rows.notePosition(position)).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#parts.adapters.delete(this.#config.name);
    const opened = await this.#opened?.catch(() => null);
    await opened?.close();
  }

  #open() {
    this.#opened ??= this.#load().catch((error: unknown) => {
      this.#opened = null;
      throw error;
    });
    return this.#opened;
  }

  async #load() {
    const { loadWriteHooks, RowBackend, systemClock } = await import('@tidemark/postgres');
    const { inject, tidemark, log } = this.#parts;
    const { name, address, mapping, mappingFile, mappingFolder = '.' } = this.#config;
    const hooks = await loadWriteHooks(mapping, mappingFolder);
    const token = tidemark.tokens.bearers.issueInternal({ user: `connector ${name}`, scopes: ['admin'] });
    const client = inProcessClient({ inject, token, mayCall: () => true });
    const rows = new RowBackend({
      ...{ client, name, address, mapping, mappingFile, hooks, clock: systemClock },
      onError: (error) => warn(log, name, error),
    });
    const close = async () => {
      await rows.close();
      tidemark.tokens.bearers.endInternal(token);
    };
    return { rows, close };
  }
}

function warn(log: Log, connector: string, error: unknown): void {
  log.warn('operations_not_forgotten', { connector, reason: errorMessage(error) });
}
