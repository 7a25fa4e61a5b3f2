import { ModelDevice, WrongPage } from '../../model/device.ts';
import { takeSnapshot } from '../../model/objects.ts';
import { mentions, type PageRead } from '../../model/page.ts';
import { tokenFields } from './facts.ts';
import type { PartitionHistory } from './partition-history.ts';
import { type Problem, problemAbout } from './problem.ts';

/** A device, and checks of its pages against what is known of its partition. */
export class DeviceChecker {
  readonly device = new ModelDevice();
  readonly #history: PartitionHistory;
  #tokenGeneration = 0;
  /** A trim may have ignored the position of the device. */
  #isAtRisk = false;

  constructor(history: PartitionHistory) {
    this.#history = history;
  }

  putAtRisk(): void {
    this.#isAtRisk = true;
  }

  /** `begunAt` is the time when the pull began: the page contains all writes acknowledged before. */
  *receive(page: PageRead, begunAt: number): Iterable<Problem> {
    yield* this.#examineStart(page);
    yield* this.#examineMentions(page);
    yield* this.#apply(page);
    this.#tokenGeneration = this.#history.generation;
    this.#isAtRisk = false;
    if (page.more) return;
    yield* this.#examineSums(page);
    this.#history.caughtUp(begunAt);
  }

  *#apply(page: PageRead): Iterable<Problem> {
    try {
      this.device.receive({ asked: this.device.token, page, generation: String(this.#history.generation) });
    } catch (error) {
      if (!(error instanceof WrongPage)) throw error;
      yield problemAbout('CRASH-6', error.message, []);
    }
  }

  *#examineStart(page: PageRead): Iterable<Problem> {
    const { token } = this.device;
    if (token === null) {
      if (page.reset !== true) yield problemAbout('CRASH-6', 'a device without a token got a page without reset', []);
      return;
    }
    // The partition was never written to; its first write begins an epoch.
    const isBlank = tokenFields(token).seq === 0;
    const isOtherGeneration = this.#tokenGeneration !== this.#history.generation;
    if (page.reset === true && !isBlank && !isOtherGeneration && !this.#isAtRisk) {
      yield problemAbout('CRASH-6', `a device with the good token ${token} had to start over`, []);
    }
    if (page.reset !== true && !isBlank && isOtherGeneration) {
      yield problemAbout('CRASH-6', `the token ${token} of an earlier generation was accepted`, []);
    }
  }

  *#examineMentions(page: PageRead): Iterable<Problem> {
    if (page.reset === true || this.device.isStartingOver) return;
    const idle = mentions(page).filter((id) => !this.#history.wasWritten(id));
    if (idle.length > 0) yield problemAbout('CRASH-6', 'a page names objects that nobody has written to since', idle);
  }

  *#examineSums({ size, checksum }: PageRead): Iterable<Problem> {
    const objects = [...this.device.objects].map(([id, { attributes }]) => [id, attributes] as const);
    const held = takeSnapshot(new Map(objects));
    if (held.size === size && held.checksum === checksum) return;
    const detail = `the page says size ${size} and checksum ${checksum}, the device has ${held.size} and ${held.checksum}`;
    yield problemAbout('CRASH-6', `a device that has caught up differs: ${detail}`, []);
  }
}
