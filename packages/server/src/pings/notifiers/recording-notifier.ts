import type { Clock, Notifier, PingMessage, PingOutcome } from '@tidemark/core';

export interface RecordedPing {
  readonly atMs: number;
  readonly client: string;
  readonly deviceType: string;
  readonly ping: PingMessage;
}

export interface RecordingNotifier extends Notifier {
  /** The last ones, oldest first. */
  readonly pings: readonly RecordedPing[];
}

const KEPT_MAX = 1_000;

/** Sends nothing and remembers the last pings, for tests and demonstrations. Never the address: it is a secret. */
export function recordingNotifier({
  clock,
  keptMax = KEPT_MAX,
}: {
  clock: Clock;
  keptMax?: number;
}): RecordingNotifier {
  const pings: RecordedPing[] = [];
  return {
    get pings() {
      return [...pings];
    },
    async notify({ client, deviceType }, ping): Promise<PingOutcome> {
      pings.push({ atMs: clock.nowMs(), client, deviceType, ping });
      if (pings.length > keptMax) pings.shift();
      return { status: 'accepted' };
    },
  };
}
