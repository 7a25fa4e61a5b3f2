import type { Notifier } from '@tidemark/core';

/** A notifier that keeps connections open. */
export interface ClosableNotifier extends Notifier {
  /** Sends nothing more; requests under way may finish. */
  close(): void;
}
