/** Users remembered at most; of the others the room is looked at again. */
const USERS_MAX = 1_000;
/** Which part of the room found may be used up without looking again: several servers may have looked at the same moment. */
const SHARE = 8;

/**
 * How many more devices users may have before somebody has to count them again. Counting goes over all of a user's
 * devices, so doing it for each of ten thousand would cost the square of that.
 */
export class DeviceRoom {
  readonly #unlooked = new Map<string, number>();

  /** True: there is room, and one place of it is taken. False: it must be counted. */
  take(login: string): boolean {
    const left = this.#unlooked.get(login) ?? 0;
    if (left > 0) this.#unlooked.set(login, left - 1);
    return left > 0;
  }

  /** So many places were left, of which the one who counted takes one. */
  found(login: string, left: number): void {
    this.#unlooked.delete(login);
    const share = Math.floor(left / SHARE);
    if (share === 0) return;
    this.#unlooked.set(login, share);
    for (const oldest of this.#unlooked.keys()) {
      if (this.#unlooked.size <= USERS_MAX) break;
      this.#unlooked.delete(oldest);
    }
  }
}
