import type { Device, UploadProblem } from '@tidemark/client';

/** The server has refused a change, which was rolled back. It stays in `device.problems` until the app handles it. */
export class UploadRefusedError extends Error {
  override readonly name = 'UploadRefusedError';
  readonly problem: UploadProblem;

  constructor(problem: UploadProblem) {
    super(`${problem.source} ${JSON.stringify(problem.id)}: ${problem.error.detail}`);
    this.problem = problem;
  }
}

interface ObjectKey {
  readonly source: string;
  readonly id: string;
}

/** What a transaction has written, and the promise of its storage on the device. */
export interface StoredWork {
  readonly objects: readonly ObjectKey[];
  readonly stored: Promise<void>;
}

interface Waiting {
  readonly objects: readonly ObjectKey[];
  /** Who was signed in. */
  readonly userId: string | null;
  /** Problems that were there before. */
  readonly known: ReadonlySet<string>;
  isStored: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const confirmations = new WeakMap<Device, Confirmations>();

/** Returns the same for the same device. */
export function confirmationsOf(device: Device): Confirmations {
  const known = confirmations.get(device);
  if (known !== undefined) return known;
  const made = new Confirmations(device);
  confirmations.set(device, made);
  return made;
}

/** Follows stored transactions until the server has confirmed or refused what they changed. */
class Confirmations {
  readonly #device: Device;
  readonly #promises = new WeakMap<object, Promise<void>>();
  readonly #waiting = new Set<Waiting>();
  #stop: (() => void) | null = null;

  constructor(device: Device) {
    this.#device = device;
  }

  /** Resolves when the server has confirmed the changes of a transaction; undefined: it has none of this device. */
  of(transaction: object): Promise<void> | undefined {
    return this.#promises.get(transaction);
  }

  track(transaction: object, { objects, stored }: StoredWork): void {
    const { userId } = this.#device.status.getSnapshot();
    const known = new Set(this.#device.problems.list().map(({ opId }) => opId));
    const promise = new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { objects, userId, known, isStored: false, resolve, reject };
      this.#waiting.add(waiting);
      stored.then(
        () => {
          waiting.isStored = true;
          this.#check();
        },
        (error: unknown) => this.#end(waiting, () => reject(error)),
      );
    });
    // Nobody has to ask for it.
    promise.catch(() => undefined);
    this.#promises.set(transaction, promise);
    this.#stop ??= this.#listen();
  }

  #listen(): () => void {
    const { uploads, problems, status } = this.#device;
    // A sign-out empties the queue before the status says so.
    const checkSoon = () => void Promise.resolve().then(() => this.#check());
    const stops = [
      ...[uploads, problems, status].map((observable) => observable.subscribe(checkSoon)),
      this.#device.on('problem', (problem) => this.#refuse(problem)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  #refuse(problem: UploadProblem): void {
    for (const waiting of [...this.#waiting]) {
      const isConcerned = waiting.objects.some((object) => this.#keyOf(object) === this.#keyOf(problem));
      if (isConcerned) this.#end(waiting, () => waiting.reject(new UploadRefusedError(problem)));
    }
  }

  #check(): void {
    const { userId } = this.#device.status.getSnapshot();
    const open = new Set(this.#device.uploads.list().map((upload) => this.#keyOf(upload)));
    const problems = this.#device.problems.list().map((problem) => ({ ...problem, key: this.#keyOf(problem) }));
    for (const waiting of [...this.#waiting]) {
      if (!waiting.isStored) continue;
      if (waiting.userId !== userId) {
        this.#end(waiting, () => waiting.reject(new Error('the user has signed out before the change was confirmed')));
        continue;
      }
      const keys = waiting.objects.map((object) => this.#keyOf(object));
      // A conflict that was not reported as a problem is being merged.
      const isMerging = problems.some(({ opId, key }) => !waiting.known.has(opId) && keys.includes(key));
      if (!isMerging && !keys.some((key) => open.has(key))) this.#end(waiting, waiting.resolve);
    }
  }

  #end(waiting: Waiting, settle: () => void): void {
    this.#waiting.delete(waiting);
    settle();
    if (this.#waiting.size > 0) return;
    this.#stop?.();
    this.#stop = null;
  }

  /** The backend may have given the object another id since. */
  #keyOf({ source, id }: ObjectKey): string {
    return JSON.stringify([source, this.#device.source(source).get(id)?.id ?? id]);
  }
}
