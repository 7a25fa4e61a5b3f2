import type { AddressInfo } from 'node:net';

interface ServerAddressOptions {
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
}

/** The addresses under which this server is reached. Port 0 becomes the real port when the server listens. */
export class ServerAddress {
  readonly #host: string;
  readonly #publicOrigins: readonly string[];
  #port: number;

  constructor({ host, port, publicUrl }: ServerAddressOptions) {
    this.#host = host.includes(':') ? `[${host}]` : host;
    this.#publicOrigins = publicUrl === null ? [] : [new URL(publicUrl).origin];
    this.#port = port;
  }

  /** Takes the port from the address of the server that listens. */
  bind(address: AddressInfo): void {
    this.#port = address.port;
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}`;
  }

  /** The backend must not have one of these origins, or the server would call itself. */
  get origins(): readonly string[] {
    const local = ['localhost', '127.0.0.1', '[::1]', this.#host].map((host) => `http://${host}:${this.#port}`);
    return [...local, ...this.#publicOrigins];
  }
}
