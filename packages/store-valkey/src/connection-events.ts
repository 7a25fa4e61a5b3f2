import type { Cluster, Redis } from 'ioredis';

export type ConnectionEvent =
  | { readonly kind: 'ready' }
  | { readonly kind: 'lost'; readonly reason: string }
  /** `failures`: the calls that have failed since the connection was lost. */
  | { readonly kind: 'back'; readonly failures: number };

interface ReportParts {
  readonly onEvent: (event: ConnectionEvent) => void;
  /** How many calls have failed so far. */
  readonly failures: () => number;
  /** True when the connection is closed on purpose. */
  readonly isClosed: () => boolean;
}

/** Reports that a connection is lost once, however often it then fails to connect again, and once that it is back. */
export function reportConnection(client: Redis | Cluster, { onEvent, failures, isClosed }: ReportParts): void {
  let isOpen = false;
  let failuresBefore: number | null = null;
  let reason = 'the connection was closed';
  client.on('error', (error: Error) => {
    reason = error.message;
  });
  client.on('close', () => {
    if (!isOpen || isClosed()) return;
    isOpen = false;
    failuresBefore = failures();
    onEvent({ kind: 'lost', reason });
  });
  client.on('ready', () => {
    isOpen = true;
    reason = 'the connection was closed';
    onEvent(failuresBefore === null ? { kind: 'ready' } : { kind: 'back', failures: failures() - failuresBefore });
  });
}
