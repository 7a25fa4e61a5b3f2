import type { Notifier } from '@tidemark/core';

/** A notifier that keeps connections open. */
export interface ClosableNotifier extends Notifier {
  /** Nothing more will be sent; what is under way may finish. */
  close(): void;
}
