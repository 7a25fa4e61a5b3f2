import { Device, type DevicePage, idsMentioned } from './device.ts';
import type { PartitionHistory } from './partition-history.ts';
import { type Problem, problemAbout } from './problem.ts';
import { tokenWords } from './token-words.ts';

/** A device together with what is known of its partition: enough to say whether a page is the right one. */
export class WatchedDevice {
  readonly device = new Device();
  readonly #history: PartitionHistory;
  #tokenLife = 0;
  /** Somebody has trimmed without asking what the device still needs. */
  #isExposed = false;

  constructor(history: PartitionHistory) {
    this.#history = history;
  }

  expose(): void {
    this.#isExposed = true;
  }

  /** `begunAt` is when the pull began: writes acknowledged before that must be in it. */
  *receive(page: DevicePage, begunAt: number): Iterable<Problem> {
    yield* this.#examineStart(page);
    yield* this.#examineMentions(page);
    const complaint = this.device.receive(page);
    if (complaint !== null) yield problemAbout('CRASH-6', complaint, []);
    this.#tokenLife = this.#history.life;
    this.#isExposed = false;
    if (page.more) return;
    yield* this.#examineSums(page);
    this.#history.caughtUp(begunAt);
  }

  *#examineStart(page: DevicePage): Iterable<Problem> {
    const { token } = this.device;
    if (token === null) {
      if (page.reset !== true) yield problemAbout('CRASH-6', 'a device without a token was not told to start over', []);
      return;
    }
    // Where nothing was ever written there is nothing to hold, and the first write begins an epoch.
    const isBlank = tokenWords(token).seq === 0;
    const isOtherLife = this.#tokenLife !== this.#history.life;
    if (page.reset === true && !isBlank && !isOtherLife && !this.#isExposed) {
      yield problemAbout('CRASH-6', `the good token ${token} was told to start over`, []);
    }
    if (page.reset !== true && !isBlank && isOtherLife) {
      yield problemAbout('CRASH-6', `the token ${token} of an earlier life was taken for good`, []);
    }
  }

  *#examineMentions(page: DevicePage): Iterable<Problem> {
    if (page.reset === true || this.device.isStartingOver) return;
    const idle = idsMentioned(page).filter((id) => !this.#history.isStirred(id));
    if (idle.length > 0) yield problemAbout('CRASH-6', 'a page is about objects nobody has written to since', idle);
  }

  *#examineSums({ size, checksum }: DevicePage): Iterable<Problem> {
    const { device } = this;
    if (device.size === size && device.checksum === checksum) return;
    const detail = `size ${size} and checksum ${checksum} told, ${device.size} and ${device.checksum} held`;
    yield problemAbout('CRASH-6', `a device that has caught up differs: ${detail}`, []);
  }
}
