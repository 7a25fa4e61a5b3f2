import type { UploadOp } from '@tidemark/protocol';
import type { DeviceHost } from '../engine/device-host.ts';
import type { ObjectEdit } from '../state/app-versions.ts';
import { inVersionOfApp } from '../state/problem-in-version.ts';
import type { Attributes, ShownProblem, UploadRow } from '../state/rows.ts';
import { Derived, type Listeners, type Observable } from '../view/observable.ts';
import { isOpen } from '../view/pending.ts';

/** An observable list that is computed when it is read after a change. */
abstract class ObservableList<T> implements Observable<readonly T[]> {
  readonly getSnapshot: () => readonly T[];
  readonly list: () => readonly T[];
  readonly subscribe: (listener: () => void) => () => void;

  constructor(look: () => readonly T[], changes: Listeners) {
    const list = new Derived(look);
    this.getSnapshot = list.getSnapshot;
    this.list = list.getSnapshot;
    this.subscribe = list.subscribe;
    changes.add(() => list.invalidate());
  }
}

const NO_NAMES: readonly string[] = Object.freeze([]);

/** A change made here that the server has not confirmed. */
export interface PendingUpload {
  readonly opId: string;
  readonly source: string;
  readonly op: UploadOp;
  readonly id: string;
  readonly attributes: Attributes | null;
  /** The attributes that the change removes. */
  readonly removed: readonly string[];
  readonly madeAtMs: number;
  /** `waiting` to be sent, being sent, or `queued` at the server until the backend has answered. */
  readonly state: 'waiting' | 'sending' | 'queued';
}

/** The pending uploads, oldest first. */
export class UploadQueue extends ObservableList<PendingUpload> {
  readonly #host: DeviceHost;

  constructor(host: DeviceHost) {
    super(() => this.#compute(), host.listeners.queue);
    this.#host = host;
  }

  /** Tries now instead of after the pause. */
  retry(): void {
    void this.#host.run('sendUploads');
  }

  /**
   * Discards a change, with all later changes to an object it created. If it has been sent already, the server may
   * have applied it: then it comes back with the next pull. Resolves to the discarded op_ids.
   */
  async discard(opId: string): Promise<readonly string[]> {
    return await this.#host.run('discardUpload', opId);
  }

  #compute(): readonly PendingUpload[] {
    const open = this.#host.writes.uploads().filter(([, upload]) => isOpen(upload));
    const { inFlight } = this.#host.role;
    return Object.freeze(
      open.map(([opId, upload]) => {
        const { source, op, id, madeAtMs, state } = upload;
        const { attributes, removed = NO_NAMES } = this.#inVersionOfApp(upload);
        const isSending = inFlight.has(opId);
        const shown = isSending ? 'sending' : state === 'queued' ? 'queued' : 'waiting';
        return Object.freeze({ opId, source, op, id, attributes, removed, madeAtMs, state: shown } as const);
      }),
    );
  }

  /** The change may have been made by the app before it was updated, or in a tab with another version of it. */
  #inVersionOfApp(upload: UploadRow): ObjectEdit {
    const { replica } = this.#host;
    const { source, id } = upload;
    const { versions } = replica.reader;
    const row = replica.reader.get('sources', ['', source]);
    return versions?.changeOf(row, upload, replica.view(source).get(id)?.attributes) ?? upload;
  }
}

/** An upload that was rejected or is in conflict. It was rolled back; `current` is the object at the server. */
export interface UploadProblem extends ShownProblem {
  readonly opId: string;
}

/** Refused uploads that the app has not handled, oldest first. */
export class UploadProblems extends ObservableList<UploadProblem> {
  readonly #host: DeviceHost;

  constructor(host: DeviceHost) {
    super(() => this.#compute(), host.listeners.problems);
    this.#host = host;
  }

  /** Makes the same change again, based on the current state of the device. Resolves to the op_id of the new upload. */
  async retry(opId: string): Promise<string> {
    return await this.#host.run('retryProblem', opId);
  }

  /**
   * Writes these attributes to the object in place of the refused change; undefined removes an attribute. An object that
   * does not exist (any more) is created. Resolves to the op_id of the new upload, null if nothing differs.
   */
  async resolve(opId: string, attributes: object): Promise<string | null> {
    const { reader } = this.#host.replica;
    const { source = '' } = reader.get('problems', ['', opId]) ?? {};
    return await this.#host.run('resolveProblem', opId, attributes, reader.versions?.of(source));
  }

  /** Removes a problem that the app has handled. */
  async dismiss(opId: string): Promise<void> {
    await this.#host.run('dismissProblem', opId);
  }

  #compute(): readonly UploadProblem[] {
    const { reader } = this.#host.replica;
    const rows = [...reader.entries('problems', '')];
    return Object.freeze(rows.map(([opId, problem]) => Object.freeze({ opId, ...inVersionOfApp(reader, problem) })));
  }
}
