import type { Refusal } from '@tidemark/protocol';

/** Limits the concurrent work of each key, for example a device. Work above the limit is refused at once. */
export class KeyedLimit {
  readonly #atOnceMax: number;
  readonly #refusal: () => Refusal;
  /** Holds only keys with work under way. */
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
