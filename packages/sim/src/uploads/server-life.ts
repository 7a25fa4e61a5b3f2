import {
  type Adapter,
  type Clock,
  type Jobs,
  type Log,
  type Passwords,
  type Random,
  type Store,
  Tidemark,
} from '@tidemark/core';

/** Simulated users have no secrets, and hashing would leave the microtask queue. */
const passwords: Passwords = {
  hash: async (password) => `plain ${password}`,
  verify: async (password, hash) => hash === `plain ${password}`,
  isOutdated: () => false,
};

const silent = () => undefined;
export const SILENT_LOG: Log = { debug: silent, info: silent, warn: silent, error: silent };

export interface ServerParts {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly random: Random;
}

/** A server that can die: from then on nothing that it had begun goes on. */
export class ServerLife {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  #isDead = false;

  constructor({ store, jobs, adapter, clock, random }: ServerParts) {
    this.jobs = this.#mortal(jobs);
    this.tidemark = new Tidemark({
      ...{ store: this.#mortal(store), jobs: this.jobs, adapters: { find: () => adapter } },
      ...{ clock, random, passwords, log: SILENT_LOG },
    });
  }

  kill(): void {
    this.#isDead = true;
  }

  /** The same, except that calls are never answered once the server is dead. */
  #mortal<T extends object>(target: T): T {
    const never = new Promise<never>(silent);
    return new Proxy(target, {
      get: (_, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (this.#isDead) return never;
          const answer: unknown = Reflect.apply(member, target, args);
          return answer instanceof Promise ? this.#whileAlive(answer) : answer;
        };
      },
    });
  }

  async #whileAlive(answer: Promise<unknown>): Promise<unknown> {
    const value = await answer;
    return this.#isDead ? new Promise<never>(silent) : value;
  }
}
