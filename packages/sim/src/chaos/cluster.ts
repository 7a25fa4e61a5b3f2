import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Rng, ServerProcess, startValkey, TcpProxy, type ValkeyServer } from '@tidemark/testing/kit';
import type { PlantName } from './plants.ts';
import { isLossy, openReplicatedStore, REPLICATED_ENGINES, type ReplicatedStore } from './replicated-store.ts';

export const CHAOS_ENGINES = ['embedded', 'valkey', ...REPLICATED_ENGINES] as const;

export type ChaosEngine = (typeof CHAOS_ENGINES)[number];

export interface ClusterOptions {
  readonly engine: ChaosEngine;
  readonly servers: number;
  readonly folder: string;
  readonly backendSecret: string;
  readonly plant: PlantName | null;
  readonly rng: Rng;
}

/** One server, with what stands between it and its store. */
export interface ChaosServer {
  readonly index: number;
  readonly process: ServerProcess;
  /** Null: the store is in the data folder, or has several addresses. */
  readonly link: TcpProxy | null;
  /** True: callers cannot reach it. */
  isCut: boolean;
}

// This path leads from src and from dist to the built module.
const PRELOAD = new URL('../../dist/chaos/preload.js', import.meta.url).href;
const START_ATTEMPTS_MAX = 60;
const START_PAUSE_MS = 500;
/** The machine of a run may be busy, and load shedding is not what is tested here. */
const OVERLOAD_MS = '60000';

type ChaosStores = Pick<ChaosCluster, 'valkey' | 'replicated'>;

/** Servers on one store, whose clocks the run sets. */
export class ChaosCluster {
  readonly servers: readonly ChaosServer[];
  /** The only process of the store. Null: the embedded store, or a replicated one. */
  readonly valkey: ValkeyServer | null;
  readonly replicated: ReplicatedStore | null;
  readonly #options: ClusterOptions;
  #clockMs = 0;

  private constructor(options: ClusterOptions, stores: ChaosStores, links: readonly TcpProxy[]) {
    this.#options = options;
    this.valkey = stores.valkey;
    this.replicated = stores.replicated;
    this.servers = Array.from({ length: options.servers }, (_, index) => {
      const link = links[index] ?? null;
      const store = link === null ? stores.replicated?.address : `valkey://127.0.0.1:${link.port}`;
      const address = store === undefined ? {} : { address: store };
      const env = {
        NODE_OPTIONS: `--import=${PRELOAD}`,
        CHAOS_CLOCK_FILE: this.#clockFile(index),
        ...(options.plant === null ? {} : { CHAOS_PLANT: options.plant }),
        TIDEMARK_BACKEND_SECRET: options.backendSecret,
        TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: OVERLOAD_MS,
        TIDEMARK_LOG_LEVEL: 'warn',
        // Only so does a failover promise to lose nothing.
        ...(stores.replicated === null || isLossy(options.engine) ? {} : { TIDEMARK_VALKEY_CONFIRM_REPLICAS: '1' }),
      };
      const process = new ServerProcess({ folder: join(options.folder, 'data'), ...address, env });
      return { index, process, link, isCut: false };
    });
  }

  static async open(options: ClusterOptions): Promise<ChaosCluster> {
    const { engine } = options;
    const valkey = engine === 'valkey' ? await startValkey() : null;
    const replicated = engine === 'valkey' || engine === 'embedded' ? null : await openReplicatedStore(engine);
    const links: TcpProxy[] = [];
    if (valkey !== null)
      for (let count = 0; count < options.servers; count++) links.push(await TcpProxy.open(valkey.port));
    const cluster = new ChaosCluster(options, { valkey, replicated }, links);
    try {
      cluster.setClock(0);
      for (const { process } of cluster.servers) await process.start();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** Returns the address of a server, as a load balancer would choose it. It may die at any moment. */
  pickUrl(): string {
    const { rng } = this.#options;
    const ready = this.servers.filter(({ process }) => process.isReady);
    const server = rng.pick(ready.length === 0 ? this.servers : ready);
    if (server.isCut) throw new Error(`server ${server.index} cannot be reached`);
    return server.process.url;
  }

  /** Starts a server that was killed. Its store may be away for a while. */
  async start({ process }: ChaosServer): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await process.start();
        return;
      } catch (error) {
        if (attempt === START_ATTEMPTS_MAX) throw error;
        await process.kill();
        await sleep(START_PAUSE_MS);
      }
    }
  }

  get clockMs(): number {
    return this.#clockMs;
  }

  /** Sets how far the clocks of all servers are ahead of the real time; `skewMs` may return another value for each. */
  setClock(offsetMs: number, skewMs: () => number = () => 0): void {
    this.#clockMs = offsetMs;
    for (const { index, process } of this.servers) {
      writeFileSync(this.#clockFile(index), String(offsetMs + skewMs()));
      if (process.isReady) globalThis.process.kill(process.pid, 'SIGUSR2');
    }
  }

  /** Writes what the servers have said into the folder of the run. */
  async keepLogs(): Promise<void> {
    for (const { index, process } of this.servers) {
      await writeFile(join(this.#options.folder, `server-${index}.log`), process.stderr);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map(({ process }) => process.kill()));
    await Promise.all(this.servers.map(({ link }) => link?.close()));
    await this.valkey?.remove();
    await this.replicated?.remove();
  }

  #clockFile(index: number): string {
    return join(this.#options.folder, `clock-${index}`);
  }
}
