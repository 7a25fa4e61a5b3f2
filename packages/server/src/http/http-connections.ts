import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { HttpConnection } from './http-connection.ts';

/** The open connections of a server, and how they end when the server stops. */
export class HttpConnections {
  readonly #open = new Set<HttpConnection>();
  #isDraining = false;

  add(socket: Socket, serve: RequestListener): void {
    const connection = new HttpConnection(socket, serve);
    this.#open.add(connection);
    socket.once('close', () => this.#open.delete(connection));
    if (this.#isDraining) connection.drain();
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** How many have a request that is worked on. */
  get busy(): number {
    return [...this.#open].filter(({ isBusy }) => isBusy).length;
  }

  watchUnsent(stallMs: number): void {
    for (const connection of this.#open) connection.watchUnsent(stallMs);
  }

  /** From now on the last answer on every connection says `Connection: close`. Requests are still taken. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open) connection.drain();
  }

  /** Ends the connections that wait for a request, and resolves when they are closed. */
  async endIdle(): Promise<void> {
    await Promise.all([...this.#open].map((connection) => connection.endIfIdle()));
  }
}
