import {
  ClientError,
  type LocalRow,
  type LocalStore,
  memoryStore,
  type Platform,
  type TabChannel,
  type TabFeatures,
} from '@tidemark/client';
import type { VirtualPlatform } from '@tidemark/testing/kit';

type Callback = () => void;

/** A process or tab in which a device runs. It can be killed, and frozen as browsers freeze hidden tabs. */
export class AppProcess {
  #isDead = false;
  #isFrozen = false;
  readonly #waiting: Callback[] = [];

  get isDead(): boolean {
    return this.#isDead;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  kill(): void {
    this.#isDead = true;
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#isFrozen = false;
    for (const callback of this.#waiting.splice(0)) this.run(callback);
  }

  run(callback: Callback): void {
    if (this.#isDead) return;
    if (this.#isFrozen) this.#waiting.push(callback);
    else callback();
  }

  /** `delayed` returns how long a timer takes that should take so long. */
  platform(shared: VirtualPlatform, tabs: TabFeatures | null, delayed = (ms: number) => ms): Platform {
    return {
      nowMs: () => shared.nowMs(),
      randomBytes: (count) => shared.randomBytes(count),
      after: (ms, callback) => shared.after(delayed(ms), () => this.run(callback)),
      fetch: async (url, init) => {
        if (this.#isDead) return never();
        const response = await shared.fetch(url, init);
        await new Promise<void>((resolve) => this.run(resolve));
        return response;
      },
      network: null,
      tabs,
    };
  }
}

interface Channel {
  readonly name: string;
  readonly process: AppProcess;
  readonly onMessage: (message: unknown) => void;
}

interface LockRequest {
  readonly process: AppProcess;
  readonly onHeld: Callback;
  readonly onLost: Callback;
}

/** The channels and the lock of the tabs of one browser. */
export class Browser {
  readonly #channels = new Set<Channel>();
  #holder: LockRequest | null = null;
  #queue: LockRequest[] = [];

  tabs(process: AppProcess): TabFeatures {
    return {
      openChannel: (name, onMessage) => this.#openChannel({ name, process, onMessage }),
      requestLock: (_name, hooks, isStolen) => {
        const request = { process, ...hooks };
        if (isStolen) this.#steal(request);
        else this.#enqueue(request);
        return () => this.#release(request);
      },
    };
  }

  /** Takes from a killed tab what it held. */
  bury(process: AppProcess): void {
    for (const channel of [...this.#channels]) if (channel.process === process) this.#channels.delete(channel);
    this.#queue = this.#queue.filter((request) => request.process !== process);
    if (this.#holder?.process === process) this.#release(this.#holder);
  }

  #openChannel(channel: Channel): TabChannel {
    this.#channels.add(channel);
    return {
      post: (message) => {
        if (channel.process.isDead) return;
        for (const other of this.#channels) {
          if (other === channel || other.name !== channel.name) continue;
          const copy: unknown = structuredClone(message);
          queueMicrotask(() => other.process.run(() => this.#channels.has(other) && other.onMessage(copy)));
        }
      },
      close: () => void this.#channels.delete(channel),
    };
  }

  #enqueue(request: LockRequest): void {
    this.#queue.push(request);
    queueMicrotask(() => this.#pass());
  }

  #steal(request: LockRequest): void {
    const loser = this.#holder;
    this.#holder = request;
    if (loser !== null) queueMicrotask(() => loser.process.run(loser.onLost));
    queueMicrotask(() => request.process.run(request.onHeld));
  }

  #release(request: LockRequest): void {
    this.#queue = this.#queue.filter((other) => other !== request);
    if (this.#holder !== request) return;
    this.#holder = null;
    queueMicrotask(() => this.#pass());
  }

  #pass(): void {
    if (this.#holder !== null) return;
    const next = this.#queue.shift();
    if (next === undefined) return;
    this.#holder = next;
    next.process.run(next.onHeld);
  }
}

/** What one device has stored. It survives its processes. */
export class DeviceFiles {
  readonly #kept: LocalStore;
  readonly #sharedAs: string | null;
  readonly #found: (rows: readonly LocalRow[]) => readonly LocalRow[];
  #owner: AppProcess | null = null;

  /** `found` returns what the next process finds. */
  constructor(sharedAs: string | null, found: (rows: readonly LocalRow[]) => readonly LocalRow[] = (rows) => rows) {
    this.#sharedAs = sharedAs;
    this.#kept = memoryStore();
    this.#found = found;
  }

  open(process: AppProcess): LocalStore {
    return {
      ...(this.#sharedAs === null ? {} : { sharedAs: this.#sharedAs }),
      load: async () => {
        this.#owner = process;
        return this.#found(await this.#kept.load());
      },
      commit: async (writes) => {
        if (process.isDead) return never();
        if (this.#owner !== process) throw new ClientError('store_in_use', 'another tab has opened this device');
        await this.#kept.commit(writes);
      },
      close: async () => undefined,
    };
  }
}

/** What a dead process gets. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
