import type { SyncEvents } from '@tidemark/protocol';
import type { EventHub, LiveDevices } from '../events/event-hub.ts';
import type { ClusterMembers } from './cluster-members.ts';

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

  /** Counts the devices that listen, at all servers together. */
  async count(): Promise<number> {
    return this.#hub.size + (await this.#members.ask({ kind: 'listeners' }));
  }

  async #pingElsewhere(client: string, ping: SyncEvents['ping']): Promise<boolean> {
    return (await this.#members.ask({ kind: 'ping', client, ping })) > 0;
  }
}
