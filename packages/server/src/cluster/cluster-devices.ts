import type { SyncEvents } from '@tidemark/protocol';
import type { EventHub, LiveDevices } from '../events/event-hub.ts';
import type { ClusterMembers } from './cluster-members.ts';

/** Devices that one query names. The text of a query is bounded. */
const CLIENTS_PER_QUERY = 200;

/** The devices that listen for events at any server of the installation. */
export class ClusterDevices implements LiveDevices {
  readonly #hub: EventHub;
  readonly #members: ClusterMembers;

  constructor(hub: EventHub, members: ClusterMembers) {
    this.#hub = hub;
    this.#members = members;
  }

  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean> {
    if (this.#hub.ping(client, ping)) return true;
    return this.#members.count > 0 && this.#pingElsewhere(client, ping);
  }

  /** True if the device listens at any server. A server that does not answer in time counts as not having it. */
  async isListening(client: string): Promise<boolean> {
    return this.#hub.isListening(client) || (await this.#members.ask({ kind: 'listening', client })) > 0;
  }

  /** Returns those of the devices that listen at any server. */
  async listeningOf(clients: readonly string[]): Promise<ReadonlySet<string>> {
    const listening = new Set(clients.filter((client) => this.#hub.isListening(client)));
    for (let from = 0; from < clients.length && this.#members.count > 0; from += CLIENTS_PER_QUERY) {
      const others = clients.slice(from, from + CLIENTS_PER_QUERY).filter((client) => !listening.has(client));
      const answers = await this.#members.collect({ kind: 'listening_of', clients: others });
      for (const answer of answers) {
        if (typeof answer !== 'number') for (const client of answer) listening.add(client);
      }
    }
    return listening;
  }

  /** Counts the devices that listen, at all servers together. */
  async count(): Promise<number> {
    return this.#hub.size + (await this.#members.ask({ kind: 'listeners' }));
  }

  async #pingElsewhere(client: string, ping: SyncEvents['ping']): Promise<boolean> {
    return (await this.#members.ask({ kind: 'ping', client, ping })) > 0;
  }
}
