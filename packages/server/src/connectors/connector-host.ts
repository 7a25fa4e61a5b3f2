import { ServerLease } from '@tidemark/core';
import type { Connector, ConnectorEvents } from '@tidemark/postgres';
import { errorMessage } from '@tidemark/protocol';
import type { ConnectorConfig } from '../config/read-connectors.ts';
import { steadyClock } from '../primitives/system-ports.ts';
import type { ConnectorHostParts } from './connector-host-parts.ts';
import { ConnectorWriting } from './connector-writing.ts';
import { CopyLog } from './copy-log.ts';
import { inProcessClient } from './in-process-client.ts';

/** When the server that runs a connector dies, another one takes over after this time. */
const LEASE_MS = 6_000;
const RENEW_EVERY_MS = 2_000;

/** A connector that runs in this server. */
interface Run {
  readonly connector: Connector;
  readonly ended: Promise<void>;
}

/** Runs one connector while this server has its lease. All servers have a host for each connector. */
export class ConnectorHost {
  readonly config: ConnectorConfig;
  readonly #parts: ConnectorHostParts;
  readonly #lease: ServerLease;
  readonly #writing: ConnectorWriting;
  #timer: NodeJS.Timeout | null = null;
  #run: Run | null = null;
  #step: Promise<void> | null = null;
  #isStopping = false;

  constructor(config: ConnectorConfig, parts: ConnectorHostParts) {
    const { tidemark, serverId } = parts;
    this.config = config;
    this.#parts = parts;
    this.#writing = new ConnectorWriting(config, parts);
    const terms = { name: `connector:${config.name}`, serverId, leaseMs: LEASE_MS };
    this.#lease = new ServerLease({ store: tidemark.store, clock: steadyClock }, terms);
  }

  start(): void {
    this.#writing.start();
    this.#timer = setInterval(() => this.#check(), RENEW_EVERY_MS);
    this.#timer.unref();
    const { connectors } = this.#parts.tidemark;
    connectors.expect(this.config.name).catch((error: unknown) => this.#warn('connector_not_noted', error));
    this.#check();
  }

  /** Stops the connector and releases the lease, so that another server goes on at once. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#step;
    await this.#end();
    await this.#writing.stop();
    await this.#lease.release().catch((error: unknown) => this.#warn('connector_lease_failed', error));
  }

  /** One step at a time: a renewal may take longer than the time between two. */
  #check(): void {
    if (this.#isStopping) return;
    this.#step ??= this.#renew().finally(() => {
      this.#step = null;
    });
  }

  async #renew(): Promise<void> {
    await this.#lease.renew().catch((error: unknown) => this.#warn('connector_lease_failed', error));
    try {
      if (!this.#lease.isHeld) await this.#end();
      else if (this.#run === null) this.#run = await this.#begin();
    } catch (error) {
      this.#warn('connector_failed', error);
    }
  }

  async #begin(): Promise<Run> {
    // Loaded here, so that a server without connectors does not load the driver.
    const { Connector, Reporter } = await import('@tidemark/postgres');
    const { inject, tidemark, log } = this.#parts;
    const { name, address, mapping, mappingFile } = this.config;
    const token = tidemark.tokens.bearers.issueInternal({ user: `connector ${name}`, scopes: ['admin', 'push'] });
    const client = inProcessClient({ inject, token, mayCall: () => this.#lease.isHeld });
    const { slot } = mapping;
    const reporter = new Reporter({ client, name, address, slot, runsIn: 'server', events: this.#events() });
    const setUp = { client, name, address, mapping, mappingFile };
    const connector = new Connector({ ...setUp, adapter: name, events: reporter.events });
    reporter.start();
    log.info('connector_started', { connector: name });
    const run = () => connector.run().catch((error: unknown) => this.#warn('connector_failed', error));
    const ended = run().finally(async () => {
      await reporter.stop();
      tidemark.tokens.bearers.endInternal(token);
      // One that has failed begins again with the next renewal.
      if (this.#run?.connector === connector) this.#run = null;
    });
    return { connector, ended };
  }

  async #end(): Promise<void> {
    const run = this.#run;
    if (run === null) return;
    await run.connector.stop();
    await run.ended;
    this.#parts.log.info('connector_stopped', { connector: this.config.name });
  }

  #events(): ConnectorEvents {
    const { log } = this.#parts;
    const { name: connector } = this.config;
    const copies = new CopyLog(steadyClock);
    return {
      onState: (state, error) => {
        if (error === undefined) log.info('connector_state', { connector, state });
        else this.#warn('connector_waits', error);
      },
      onPosition: (position) => this.#writing.notePosition(position),
      onHeal: (reason) => log.warn('connector_compares_all', { connector, reason }),
      onProgress: (progress) => {
        const line = copies.lineOf(progress);
        if (line !== null) log.info('connector_copies', { connector, ...line });
      },
    };
  }

  #warn(event: string, error: unknown): void {
    this.#parts.log.warn(event, { connector: this.config.name, reason: errorMessage(error) });
  }
}
