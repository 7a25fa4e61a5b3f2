import { Cluster, type Redis } from 'ioredis';

/** How a server begins its reply to a wrong login or a missing permission. */
const ACCESS_DENIED = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;
const SENTINEL_REASON = /^failed to connect to sentinel \S+ because (.*)$/s;
/** How ioredis says that no sentinel has named a primary, with the last error of a sentinel. */
const NO_SENTINEL = /^All sentinels are unreachable(?:.*Last error: (.*))?/s;
/** What ioredis says of a connection that could not be made, or was closed before it could be used. */
const NOT_CONNECTED = /^(?:Connection is closed\.|connect .*)?$/;

/**
 * Explains in one sentence, without a password, why a connection cannot be opened. The error of `connect` only says that the
 * connection was closed; ioredis emits the reason as an event, which this class listens to.
 */
export class OpenErrors {
  readonly #client: Redis | Cluster;
  #ofServer: string | null = null;
  /** The reply of a sentinel that refused the login. It matters more than other sentinels being away. */
  #ofSentinel: string | null = null;

  constructor(client: Redis | Cluster) {
    this.#client = client;
    if (client instanceof Cluster) client.on('node error', this.#onServer);
    else client.on('error', this.#onServer).on('sentinelError', this.#onSentinel);
  }

  explain(error: Error): string {
    const reason = this.#ofServer ?? error.message;
    if (ACCESS_DENIED.test(reason)) {
      return `the server refuses valkey.login and valkey.password: ${withoutStop(reason)}`;
    }
    const noPrimary = NO_SENTINEL.exec(reason);
    if (noPrimary === null) return withoutStop(reason);
    if (this.#ofSentinel !== null) {
      return `the sentinels refuse valkey.sentinel_login and valkey.sentinel_password: ${withoutStop(this.#ofSentinel)}`;
    }
    const [, last = ''] = noPrimary;
    return NOT_CONNECTED.test(last)
      ? 'no sentinel can be reached'
      : `no sentinel names a primary: ${withoutStop(last)}`;
  }

  /** Removes the listeners. */
  stop(): void {
    const client = this.#client;
    client.off('node error', this.#onServer).off('error', this.#onServer).off('sentinelError', this.#onSentinel);
  }

  readonly #onServer = ({ message }: Error) => {
    this.#ofServer = message;
  };

  readonly #onSentinel = ({ message }: Error) => {
    const [, reason = ''] = SENTINEL_REASON.exec(message) ?? [];
    if (ACCESS_DENIED.test(reason)) this.#ofSentinel = reason;
  };
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '');
}
