import { isDeepStrictEqual } from 'node:util';
import { type ConnectorCheck, Refusal } from '@tidemark/protocol';
import type { ConnectorConfig } from '../config/read-connectors.ts';
import type { Part } from '../lifecycle.ts';
import { checkConnector } from './check-connector.ts';
import { ConnectorHost } from './connector-host.ts';
import type { ConnectorHostParts } from './connector-host-parts.ts';

/** The connectors of the configuration. */
export class Connectors {
  readonly #parts: ConnectorHostParts;
  #hosts: readonly ConnectorHost[];
  #isStarted = false;
  #change: Promise<void> = Promise.resolve();

  constructor(configs: readonly ConnectorConfig[], parts: ConnectorHostParts) {
    this.#parts = parts;
    this.#hosts = configs.map((config) => new ConnectorHost(config, parts));
  }

  has(name: string): boolean {
    return this.#hosts.some(({ config }) => config.name === name);
  }

  /** Finds what the database of a connector lacks. */
  check(name: string): Promise<ConnectorCheck> {
    const host = this.#hosts.find(({ config }) => config.name === name);
    if (host !== undefined) return checkConnector(host.config);
    const detail = `the connector ${JSON.stringify(name)} is not in the configuration of this server`;
    throw new Refusal('connector_not_configured', detail);
  }

  start(): void {
    this.#isStarted = true;
    for (const host of this.#hosts) host.start();
  }

  async stop(): Promise<void> {
    this.#isStarted = false;
    await this.#change;
    await Promise.all(this.#hosts.map((host) => host.stop()));
  }

  /** Takes another configuration: connectors that differ stop and begin again, all others go on. */
  configure(configs: readonly ConnectorConfig[]): Promise<void> {
    const next = this.#change.then(() => this.#replace(configs));
    this.#change = next.catch(() => undefined);
    return next;
  }

  async #replace(configs: readonly ConnectorConfig[]): Promise<void> {
    const kept = this.#hosts.filter(({ config }) => configs.some((one) => isDeepStrictEqual(one, config)));
    const gone = this.#hosts.filter((host) => !kept.includes(host));
    const added = configs
      .filter((config) => !kept.some((host) => isDeepStrictEqual(host.config, config)))
      .map((config) => new ConnectorHost(config, this.#parts));
    // Those that are in force from now on; the old ones end first, because a slot takes one connection.
    this.#hosts = [...kept, ...added];
    await Promise.all(gone.map((host) => host.stop()));
    if (this.#isStarted) for (const host of added) host.start();
  }
}

/** Connectors call the server like a backend, so they start after everything else and end first. */
export function connectorsPart(connectors: Connectors): Part {
  return { name: 'connectors', start: () => connectors.start(), drain: () => connectors.stop() };
}
