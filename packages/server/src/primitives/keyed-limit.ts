import type { Refusal } from '@tidemark/protocol';

/** Bounds how much work each key (a device, say) has under way at once. Nobody waits: what is more is refused. */
export class KeyedLimit {
  readonly #atOnceMax: number;
  readonly #refusal: () => Refusal;
  /** Only keys with work under way are in it. */
  readonly #underWay = new Map<string, number>();

  constructor(atOnceMax: number, refusal: () => Refusal) {
    this.#atOnceMax = atOnceMax;
    this.#refusal = refusal;
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#underWay.get(key) ?? 0;
    if (before >= this.#atOnceMax) throw this.#refusal();
    this.#underWay.set(key, before + 1);
    try {
      return await work();
    } finally {
      const left = (this.#underWay.get(key) ?? 1) - 1;
      if (left === 0) this.#underWay.delete(key);
      else this.#underWay.set(key, left);
    }
  }
}
