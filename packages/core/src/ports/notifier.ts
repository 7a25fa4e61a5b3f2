import type { PushType } from '@tidemark/protocol';

/** Carries one ping to one device. */
export interface Notifier {
  notify(target: PingTarget, ping: PingMessage): Promise<PingOutcome>;
}

export interface PingTarget {
  readonly client: string;
  readonly deviceType: string;
  readonly pushType: Exclude<PushType, 'none'>;
  /** The address the push service knows the device by; empty when it needs none. A secret: never logged. */
  readonly devicePin: string;
  readonly devicePort: string | null;
  /** Which app of the operator's it is, when the device says so. */
  readonly appId: string | null;
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
  /** A push service has taken it. The note tells what the device will miss, such as the end of a long message. */
  | { readonly status: 'accepted'; readonly note?: string }
  /** It went out on an open connection; nobody confirms that. */
  | { readonly status: 'sent' }
  /** The address is dead: the device must register anew. */
  | { readonly status: 'retired'; readonly reason: string }
  | PingFailure;

/** Reasons never contain an address. */
export interface PingFailure {
  readonly status: 'failed';
  readonly reason: string;
  readonly retryAfterMs: number | null;
  /** Another attempt would not help. */
  readonly isFinal: boolean;
  /** It has nothing to do with the device: others would fare the same now. */
  readonly isServiceDown?: true;
  /** The service may have taken the ping: only its answer is missing. */
  readonly isAnswerLost?: true;
}
