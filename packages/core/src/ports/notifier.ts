import type { PushType } from '@tidemark/protocol';

/** Sends a ping to one device. */
export interface Notifier {
  notify(target: PingTarget, ping: PingMessage): Promise<PingOutcome>;
}

export interface PingTarget {
  readonly client: string;
  readonly deviceType: string;
  readonly pushType: Exclude<PushType, 'none'>;
  /** The address at the push service; empty when it needs none. It is a secret and never logged. */
  readonly devicePin: string;
  readonly devicePort: string | null;
  /** The app on the device, when the device names it. */
  readonly appId: string | null;
}

/** The fields of specification 2.5 that travel to the device. */
export interface PingMessage {
  /** The id of this ping to this device, in ASCII and the same for every attempt, so that repetitions can be recognised. */
  readonly id: string;
  readonly sources: readonly string[];
  readonly message?: string;
  readonly badge?: number | string;
  readonly sound?: string;
  readonly vibrateS?: number;
}

export type PingOutcome =
  /** A push service has accepted it. The note says what was left out, such as the end of a long message. */
  | { readonly status: 'accepted'; readonly note?: string }
  /** It was sent on an open connection, without confirmation. */
  | { readonly status: 'sent' }
  /** The address no longer works; the device must register again. */
  | { readonly status: 'retired'; readonly reason: string }
  | PingFailure;

/** Reasons never contain an address. */
export interface PingFailure {
  readonly status: 'failed';
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** Another attempt would not help. */
  readonly isFinal: boolean;
  /** The push service fails for all devices. */
  readonly isServiceDown?: true;
  /** The service may have accepted the ping, but its answer was lost. */
  readonly isAnswerLost?: true;
}
