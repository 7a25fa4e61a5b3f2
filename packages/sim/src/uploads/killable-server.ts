import { type Adapter, type Clock, type Jobs, type Random, type Store, Tidemark } from '@tidemark/core';
import { PLAIN_PASSWORDS, SILENT_LOG } from '../model/core-parts.ts';

export interface KillableServerParts {
  readonly store: Store;
  readonly jobs: Jobs;
  readonly adapter: Adapter;
  readonly clock: Clock;
  readonly random: Random;
}

/** A server that can be killed: from then on nothing that it had begun continues. */
export class KillableServer {
  readonly tidemark: Tidemark;
  readonly jobs: Jobs;
  #isDead = false;

  constructor({ store, jobs, adapter, clock, random }: KillableServerParts) {
    this.jobs = this.#untilKilled(jobs);
    this.tidemark = new Tidemark({
      ...{ store: this.#untilKilled(store), jobs: this.jobs, adapters: { find: () => adapter } },
      ...{ clock, random, passwords: PLAIN_PASSWORDS, log: SILENT_LOG },
    });
  }

  kill(): void {
    this.#isDead = true;
  }

  /** Returns the same object, except that its calls never return once the server is dead. */
  #untilKilled<T extends object>(target: T): T {
    const never = new Promise<never>(() => undefined);
    return new Proxy(target, {
      get: (_, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => {
          if (this.#isDead) return never;
          const answer: unknown = Reflect.apply(member, target, args);
          return answer instanceof Promise ? this.#unlessDead(answer) : answer;
        };
      },
    });
  }

  async #unlessDead(answer: Promise<unknown>): Promise<unknown> {
    const value = await answer;
    return this.#isDead ? new Promise<never>(() => undefined) : value;
  }
}
