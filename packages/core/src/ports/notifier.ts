/** Carries one ping to one device. */
export interface Notifier {
  notify(target: PingTarget, ping: PingMessage): Promise<PingOutcome>;
}

export interface PingTarget {
  readonly client: string;
  readonly deviceType: string;
  /** The address the push service knows the device by. A secret: never logged. */
  readonly devicePin: string;
  readonly devicePort: string | null;
}

/** The fields of specification 2.5 that travel to the device. */
export interface PingMessage {
  /** Names this ping to this device in ASCII, the same at every attempt, so that whoever gets it can tell a repetition. */
  readonly id: string;
  readonly sources: readonly string[];
  readonly message?: string;
  readonly badge?: number | string;
  readonly sound?: string;
  readonly vibrateS?: number;
}

export type PingOutcome =
  | { readonly status: 'accepted' }
  /** The address is dead: the device must register anew. */
  | { readonly status: 'retired'; readonly reason: string }
  /** Reasons never contain an address. `isFinal`: another attempt would not help. */
  | {
      readonly status: 'failed';
      readonly reason: string;
      readonly retryAfterMs: number | null;
      readonly isFinal: boolean;
    };
