import { Cluster, type Redis } from 'ioredis';

/** How a server begins its answer to somebody it does not let in, or does not let do what is asked. */
const TURNED_AWAY = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;
const SENTINEL_REASON = /^failed to connect to sentinel \S+ because (.*)$/s;
/** How the client tells that no sentinel has named a primary, with what the last of them said, if anything. */
const NO_SENTINEL = /^All sentinels are unreachable(?:.*Last error: (.*))?/s;
/** All that is said of a connection that could not be made, or was closed before it was of use. */
const UNREACHED = /^(?:Connection is closed\.|connect .*)?$/;

/**
 * Why a connection cannot be made, in one sentence without a password. Whoever waits for one is told only that it was
 * closed, or that all have failed; the reason passes by as an event.
 */
export class WhyUnopened {
  readonly #client: Redis | Cluster;
  #ofServer: string | null = null;
  /** What a sentinel said that turned us away, though others may just have been out of reach. */
  #ofSentinel: string | null = null;

  constructor(client: Redis | Cluster) {
    this.#client = client;
    if (client instanceof Cluster) client.on('node error', this.#onServer);
    else client.on('error', this.#onServer).on('sentinelError', this.#onSentinel);
  }

  sentence(error: Error): string {
    const reason = this.#ofServer ?? error.message;
    if (TURNED_AWAY.test(reason)) return `the server refuses valkey.login and valkey.password: ${withoutStop(reason)}`;
    const unfound = NO_SENTINEL.exec(reason);
    if (unfound === null) return withoutStop(reason);
    if (this.#ofSentinel !== null) {
      return `the sentinels refuse valkey.sentinel_login and valkey.sentinel_password: ${withoutStop(this.#ofSentinel)}`;
    }
    const [, said = ''] = unfound;
    return UNREACHED.test(said) ? 'no sentinel can be reached' : `no sentinel names a primary: ${withoutStop(said)}`;
  }

  /** From now on nothing is listened to any more. */
  end(): void {
    const client = this.#client;
    client.off('node error', this.#onServer).off('error', this.#onServer).off('sentinelError', this.#onSentinel);
  }

  readonly #onServer = ({ message }: Error) => {
    this.#ofServer = message;
  };

  readonly #onSentinel = ({ message }: Error) => {
    const [, reason = ''] = SENTINEL_REASON.exec(message) ?? [];
    if (TURNED_AWAY.test(reason)) this.#ofSentinel = reason;
  };
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
