import { execFile } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Rng } from '@tidemark/testing/kit';
import type { ChaosBackend } from './chaos-backend.ts';
import type { ChaosCluster, ChaosServer } from './cluster.ts';

const run = promisify(execFile);

/** What can be cut between callers and servers. */
interface Cuttable {
  cut(): void;
  restore(): void;
}

export interface NemesisParts {
  readonly cluster: ChaosCluster;
  readonly backend: ChaosBackend;
  /** The network of the devices. */
  readonly deviceNetwork: Cuttable;
  readonly folder: string;
  readonly rng: Rng;
  readonly onProblem: (problem: string) => void;
  /** The only faults to inject. Null: all that the store can have. */
  readonly faults: readonly string[] | null;
}

type FaultName =
  | 'kill_server'
  | 'stop_server'
  | 'cut_server'
  | 'cut_devices'
  | 'backend_down'
  | 'clock_jump'
  | 'slow_disk'
  | 'full_disk'
  | 'kill_store'
  | 'stop_store'
  | 'cut_store'
  | 'stall_store'
  | 'fail_over'
  | 'reshard';

const WEIGHTS: readonly (readonly [FaultName, number])[] = [
  ['kill_server', 12],
  ['stop_server', 10],
  ['cut_server', 8],
  ['cut_devices', 6],
  ['backend_down', 6],
  ['clock_jump', 10],
  ['slow_disk', 4],
  ['full_disk', 6],
];
const STORE_WEIGHTS: readonly (readonly [FaultName, number])[] = [
  ['kill_store', 5],
  ['stop_store', 4],
  ['cut_store', 5],
  ['stall_store', 10],
];

const REPLICATED_WEIGHTS: readonly (readonly [FaultName, number])[] = [['fail_over', 12]];

const SLOT_WEIGHTS: readonly (readonly [FaultName, number])[] = [['reshard', 12]];

const PAUSE_MS_MAX = 2_000;
const FAULT_MS_MAX = 2_500;
/** Longer than a call waits for a reply, and mostly shorter than the time after which a silent connection is given up. */
const STALL_MS_MAX = 6_000;
const CLOCK_JUMP_MS_MAX = 7_200_000;
/** Clocks of servers on one store may differ by less than a minute (decision 0048). */
const CLOCK_SKEW_MS_MAX = 20_000;
const SLOW_DISK_BYTES = 8 * 2 ** 20;
/** How much more a file may grow on a full disk. */
const FULL_DISK_BYTES = 8_192;
const PRLIMIT = '/usr/bin/prlimit';

/** Injects faults at random times, one after the other, and ends each of them itself. */
export class Nemesis {
  readonly counts = new Map<FaultName, number>();
  readonly #parts: NemesisParts;
  readonly #weights: readonly (readonly [FaultName, number])[];
  /** What has a fault at present; it gets no second one. */
  readonly #busy = new Set<object>();

  constructor(parts: NemesisParts) {
    this.#parts = parts;
    const { valkey, replicated } = parts.cluster;
    const isWanted = ([name]: readonly [FaultName, number]) => parts.faults === null || parts.faults.includes(name);
    // A full disk ends a Valkey, and then its replica would take over as well.
    const hasFullDisk = replicated === null && existsSync(PRLIMIT);
    const possible = [
      ...WEIGHTS.filter(([name]) => name !== 'full_disk' || hasFullDisk),
      ...(valkey === null ? [] : STORE_WEIGHTS),
      ...(replicated === null ? [] : REPLICATED_WEIGHTS),
      ...((replicated?.reshard ?? null) === null ? [] : SLOT_WEIGHTS),
    ];
    this.#weights = possible.filter(isWanted);
    if (this.#weights.length === 0) {
      throw new Error(
        `none of these faults can be injected here; there are ${possible.map(([name]) => name).join(', ')}`,
      );
    }
  }

  /** The faults that it injects. */
  get faults(): readonly FaultName[] {
    return this.#weights.map(([name]) => name);
  }

  async run(isOver: () => boolean): Promise<void> {
    const { rng } = this.#parts;
    while (!isOver()) {
      await sleep(rng.below(PAUSE_MS_MAX));
      if (isOver()) return;
      const fault = rng.weighted(this.#weights);
      const target = this.#targetOf(fault);
      if (this.#busy.has(target) || !this.#isAlive(target)) continue;
      this.#busy.add(target);
      this.counts.set(fault, (this.counts.get(fault) ?? 0) + 1);
      await this.#inject(fault, target).finally(() => this.#busy.delete(target));
    }
  }

  #targetOf(fault: FaultName): object {
    const { cluster, backend, deviceNetwork, rng } = this.#parts;
    if (fault === 'cut_devices') return deviceNetwork;
    if (fault === 'backend_down') return backend;
    if (fault === 'clock_jump') return cluster;
    if (fault === 'kill_store' || fault === 'stop_store') return cluster.valkey ?? cluster;
    if (fault === 'fail_over' || fault === 'reshard') return cluster.replicated ?? cluster;
    if (fault === 'full_disk' && cluster.valkey !== null) return cluster.valkey;
    return rng.pick(cluster.servers);
  }

  /** A server that nobody has killed must run. */
  #isAlive(target: object): boolean {
    const server = this.#parts.cluster.servers.find((one) => one === target);
    if (server === undefined || server.process.isRunning) return true;
    this.#parts.onProblem(`server ${server.index} has ended by itself: ${server.process.stderr}`);
    return false;
  }

  async #inject(fault: FaultName, target: object): Promise<void> {
    const { cluster, backend, deviceNetwork, rng } = this.#parts;
    const lasting = () => sleep(rng.below(FAULT_MS_MAX));
    const server = target as ChaosServer;
    switch (fault) {
      case 'kill_server':
        await server.process.kill();
        await lasting();
        return cluster.start(server);
      case 'stop_server':
        return stopped(server.process.pid, lasting);
      case 'cut_server':
        server.isCut = true;
        await lasting();
        server.isCut = false;
        return;
      case 'cut_devices':
        deviceNetwork.cut();
        await lasting();
        return deviceNetwork.restore();
      case 'backend_down':
        backend.isDown = true;
        await lasting();
        backend.isDown = false;
        return;
      case 'clock_jump':
        return this.#jump();
      case 'slow_disk':
        return this.#slowDisk();
      default:
        return this.#injectIntoStore(fault, server, lasting);
    }
  }

  async #injectIntoStore(fault: FaultName, server: ChaosServer, lasting: () => Promise<void>): Promise<void> {
    const { rng } = this.#parts;
    const { valkey, replicated } = this.#parts.cluster;
    if (fault === 'fail_over') return replicated?.failOver(rng, lasting);
    if (fault === 'reshard') return replicated?.reshard?.(rng);
    if (fault === 'stall_store') return this.#stall(server);
    if (fault === 'cut_store') {
      server.link?.cut();
      await lasting();
      return server.link?.restore();
    }
    if (valkey === null) return this.#fullDisk(server.process.pid, lasting);
    if (fault === 'stop_store') return stopped(valkey.pid, lasting);
    // Valkey ends when it cannot write its log, so on a full disk it is restarted as well.
    if (fault === 'full_disk') await this.#fullDisk(valkey.pid, lasting);
    else {
      await valkey.kill();
      await lasting();
    }
    if (fault === 'full_disk') await valkey.kill();
    return valkey.restart();
  }

  /**
   * Some connections of the server to its store deliver nothing, and later all at once. Half of the stalls begin with a write:
   * otherwise mostly the look at the token of a request is held back, and its write is never sent.
   */
  async #stall({ link }: ChaosServer): Promise<void> {
    const { rng } = this.#parts;
    const resume = link?.stall(() => rng.chance(50), rng.chance(50) ? isDocumentWrite : undefined);
    await sleep(rng.below(STALL_MS_MAX));
    resume?.();
  }

  #jump(): Promise<void> {
    const { cluster, rng } = this.#parts;
    const skewMs = () => rng.between(-CLOCK_SKEW_MS_MAX / 2, CLOCK_SKEW_MS_MAX / 2);
    cluster.setClock(rng.between(-CLOCK_JUMP_MS_MAX, CLOCK_JUMP_MS_MAX), skewMs);
    return Promise.resolve();
  }

  /** Keeps the disk busy: writes that must be flushed wait behind those of this file. */
  async #slowDisk(): Promise<void> {
    const { folder, rng } = this.#parts;
    const path = join(folder, 'neighbour');
    const file = await open(path, 'w');
    const bytes = Buffer.alloc(SLOW_DISK_BYTES, 'x');
    try {
      for (let count = rng.between(1, 4); count > 0; count--) {
        await file.write(bytes, 0, bytes.length, 0);
        await file.sync();
      }
    } finally {
      await file.close();
      await rm(path, { force: true });
    }
  }

  /** Files of the process cannot grow: its writes fail as they do on a full disk. */
  async #fullDisk(pid: number, lasting: () => Promise<void>): Promise<void> {
    const { folder, cluster } = this.#parts;
    const file = join(folder, 'data', 'store.mdb');
    const size = cluster.valkey === null && existsSync(file) ? statSync(file).size : 0;
    const limit = async (bytes: string) => {
      // The process may have ended.
      await run(PRLIMIT, [`--pid=${pid}`, `--fsize=${bytes}:unlimited`]).catch(() => undefined);
    };
    await limit(String(size + FULL_DISK_BYTES));
    await lasting();
    await limit('unlimited');
  }
}

/** A document of type `text` is written: no other command has this argument. */
function isDocumentWrite(bytes: Buffer): boolean {
  return bytes.includes('\r\ntext\r\n');
}

/** Stops a process as a debugger or a frozen virtual machine does, and continues it. */
async function stopped(pid: number, lasting: () => Promise<void>): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  try {
    await lasting();
  } finally {
    try {
      process.kill(pid, 'SIGCONT');
    } catch {
      // It has ended meanwhile; a server that ends by itself is reported when its turn comes.
    }
  }
}
