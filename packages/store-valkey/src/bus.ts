import { BUS_TEXT_UNITS_MAX, type Bus, type BusListener } from '@tidemark/core/ports';
import { Redis, type RedisOptions } from 'ioredis';
import type { Address, Node } from './address.ts';
import { accessOptions, Link, sentinelOptions } from './link.ts';
import { addressOf, PREFIX, type ValkeyAccess } from './open-valkey-store.ts';
import { quietWatchers } from './quiet-watchers.ts';

const CONNECT_MS = 1_000;
const RETRY_MS = 250;
/** After so long without an echo the ear is deaf, and another one is tried. */
const ECHO_MS_MAX = 6_000;
const CHECK_EVERY_MS = 500;

export interface ValkeyBusOptions extends ValkeyAccess {
  /** Begins the name of the channel, as it begins every key. */
  readonly prefix?: string;
  /** How long one may hear nothing of what one has published oneself. */
  readonly echoMsMax?: number;
}

/**
 * Between servers on one Valkey, by plain publish and subscribe: every node of a cluster passes on what any of them is
 * told, so it does not matter which one is spoken to, and which one is listened to.
 */
export async function openValkeyBus(options: ValkeyBusOptions, listener: BusListener): Promise<Bus> {
  const address = addressOf(options);
  const link = await Link.open({ address });
  const { prefix = PREFIX, echoMsMax = ECHO_MS_MAX } = options;
  const bus = new ValkeyBus(link, { address, channel: `${prefix}bus`, echoMsMax }, listener);
  await bus.open();
  return bus;
}

interface BusTerms {
  readonly address: Address;
  readonly channel: string;
  readonly echoMsMax: number;
}

class ValkeyBus implements Bus {
  readonly #link: Link;
  readonly #terms: BusTerms;
  readonly #listener: BusListener;
  #ear: Redis | null = null;
  /** How often an ear was opened: the next one tries the next node there is. */
  #ears = 0;
  /** When the oldest text was published whose echo is still to come; null: all have come. */
  #unheardSinceMs: number | null = null;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(link: Link, terms: BusTerms, listener: BusListener) {
    this.#link = link;
    this.#terms = terms;
    this.#listener = listener;
  }

  /** A server that cannot be listened to now may be later: that keeps nobody from starting. */
  async open(): Promise<void> {
    await this.#listen();
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  publish(text: string): void {
    if (!this.#isOpen || text.length > BUS_TEXT_UNITS_MAX) return;
    this.#unheardSinceMs ??= performance.now();
    // What could not be sent is missed by the others, who find out that they have missed something.
    this.#link.command('PUBLISH', this.#terms.channel, text).catch(() => undefined);
  }

  async close(): Promise<void> {
    // What was published before is answered before, unless the server is away.
    await this.#link.command('PUBLISH', this.#terms.channel, '').catch(() => undefined);
    this.#isOpen = false;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    this.#ear?.disconnect();
    this.#link.close();
  }

  async #listen(): Promise<void> {
    const { nodes } = this.#link;
    const ear = quietWatchers(new Redis(earOptions(this.#terms.address, nodes[this.#ears++ % nodes.length])));
    this.#ear = ear;
    ear.on('error', () => undefined);
    // One that could not even be told where its primary is was never opened, and so is not closed, but ends.
    ear.once('end', () => this.#lost(ear));
    ear.on('message', (_channel, text: string) => this.#heard(text));
    try {
      await ear.connect();
      await ear.subscribe(this.#terms.channel);
      this.#unheardSinceMs = null;
      this.#listener.onGap();
    } catch {
      ear.disconnect();
    }
  }

  #heard(text: string): void {
    this.#unheardSinceMs = null;
    if (text !== '') this.#listener.onText(text);
  }

  #lost(ear: Redis): void {
    ear.removeAllListeners('message');
    // It has ended, but what it had listen at the sentinels has not.
    ear.disconnect();
    if (!this.#isOpen || this.#ear !== ear) return;
    this.#ear = null;
    this.#retry = setTimeout(() => void this.#listen(), RETRY_MS);
    this.#retry.unref();
  }

  #check(): void {
    const sinceMs = this.#unheardSinceMs;
    if (sinceMs === null || performance.now() - sinceMs < this.#terms.echoMsMax) return;
    this.#unheardSinceMs = null;
    this.#ear?.disconnect();
  }
}

/** A connection of its own, since one that listens can do nothing else. It is not made again by itself. */
function earOptions(address: Address, node: Node | undefined) {
  const common = {
    ...accessOptions(address.access),
    lazyConnect: true,
    protocol: 2 as const,
    connectTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  } satisfies RedisOptions;
  if (address.kind === 'sentinel') return { ...common, ...sentinelOptions(address), sentinelRetryStrategy: () => null };
  return { ...common, ...node };
}
