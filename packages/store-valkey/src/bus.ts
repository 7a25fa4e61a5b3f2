import { BUS_TEXT_UNITS_MAX, type Bus, type BusListener } from '@tidemark/core/ports';
import { Redis, type RedisOptions } from 'ioredis';
import type { Address, Node } from './address.ts';
import { Connection } from './connection.ts';
import { sentinelOptions, silenceSentinels, subscriberOptions } from './create-client.ts';
import { addressOf, PREFIX, type ValkeyAccess } from './open-store.ts';

const RETRY_MS = 250;
/** A subscriber that did not receive our own messages for this long is replaced. */
const ECHO_MS_MAX = 6_000;
const CHECK_EVERY_MS = 500;

export interface ValkeyBusOptions extends ValkeyAccess {
  /** The beginning of the channel's name, as of every key. */
  readonly prefix?: string;
  /** After this time without an echo of our own messages the subscriber is replaced. */
  readonly echoMsMax?: number;
}

/**
 * Opens a bus between servers on one Valkey, by publish/subscribe. Every node of a cluster forwards messages to all other
 * nodes, so a server may publish at any node and subscribe at any other.
 */
export async function openValkeyBus(options: ValkeyBusOptions, listener: BusListener): Promise<Bus> {
  const address = addressOf(options);
  const connection = await Connection.open({ address });
  const { prefix = PREFIX, echoMsMax = ECHO_MS_MAX } = options;
  const bus = new ValkeyBus(connection, { address, channel: `${prefix}bus`, echoMsMax }, listener);
  await bus.open();
  return bus;
}

interface BusConfig {
  readonly address: Address;
  readonly channel: string;
  readonly echoMsMax: number;
}

class ValkeyBus implements Bus {
  readonly #connection: Connection;
  readonly #config: BusConfig;
  readonly #listener: BusListener;
  #subscriber: Redis | null = null;
  /** How many subscribers were created: each one tries the next node. */
  #created = 0;
  /** When the oldest message was published that did not come back yet; null: all have come back. */
  #awaitingEchoSinceMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(connection: Connection, config: BusConfig, listener: BusListener) {
    this.#connection = connection;
    this.#config = config;
    this.#listener = listener;
  }

  /** Succeeds even if nothing can be subscribed to yet: the bus keeps trying. */
  async open(): Promise<void> {
    await this.#subscribe();
    this.#timer = setInterval(() => this.#checkEcho(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  publish(text: string): void {
    if (!this.#isOpen || text.length > BUS_TEXT_UNITS_MAX) return;
    this.#awaitingEchoSinceMs ??= performance.now();
    // If this fails, the other servers miss the message and notice the gap.
    this.#connection.command('PUBLISH', this.#config.channel, text).catch(() => undefined);
  }

  async close(): Promise<void> {
    // The reply to this comes after the replies to all messages published before, unless the server is away.
    await this.#connection.command('PUBLISH', this.#config.channel, '').catch(() => undefined);
    this.#isOpen = false;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#subscriber?.disconnect();
    this.#connection.close();
  }

  async #subscribe(): Promise<void> {
    const { nodes } = this.#connection;
    const node = nodes[this.#created++ % nodes.length];
    const subscriber = silenceSentinels(new Redis(optionsFor(this.#config.address, node)));
    this.#subscriber = subscriber;
    subscriber.on('error', () => undefined);
    // A client that did not find its primary was never opened: it emits `end` and not `close`.
    subscriber.once('end', () => this.#onEnd(subscriber));
    subscriber.on('message', (_channel, text: string) => this.#onMessage(text));
    try {
      await subscriber.connect();
      await subscriber.subscribe(this.#config.channel);
      this.#awaitingEchoSinceMs = null;
      this.#listener.onGap();
    } catch {
      subscriber.disconnect();
    }
  }

  #onMessage(text: string): void {
    this.#awaitingEchoSinceMs = null;
    if (text !== '') this.#listener.onText(text);
  }

  #onEnd(subscriber: Redis): void {
    subscriber.removeAllListeners('message');
    // The client has ended, but its connections to the sentinels have not.
    subscriber.disconnect();
    if (!this.#isOpen || this.#subscriber !== subscriber) return;
    this.#subscriber = null;
    this.#retry = setTimeout(() => void this.#subscribe(), RETRY_MS);
    this.#retry.unref();
  }

  #checkEcho(): void {
    const sinceMs = this.#awaitingEchoSinceMs;
    if (sinceMs === null || performance.now() - sinceMs < this.#config.echoMsMax) return;
    this.#awaitingEchoSinceMs = null;
    this.#subscriber?.disconnect();
  }
}

/** A connection that subscribes can do nothing else. It does not reconnect: the bus creates another one. */
function optionsFor(address: Address, node: Node | undefined) {
  const common = {
    ...subscriberOptions(address.access),
    autoResubscribe: false,
    retryStrategy: () => null,
  } satisfies RedisOptions;
  if (address.kind === 'sentinel') return { ...common, ...sentinelOptions(address), sentinelRetryStrategy: () => null };
  return { ...common, ...node };
}
