import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { HttpConnection } from './http-connection.ts';

/** The open connections of a server. */
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

  /** Counts the connections that process a request. */
  get busy(): number {
    return [...this.#open].filter(({ isBusy }) => isBusy).length;
  }

  /** Closes the connections whose caller has read nothing of an answer for so many checks. */
  watchUnsent(checksMax: number): void {
    for (const connection of this.#open) connection.watchUnsent(checksMax);
  }

  /** Makes the last answer on every connection carry `Connection: close`. New requests are still answered. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#open) connection.drain();
  }

  /** Ends the idle connections, and resolves when they are closed. */
  async endIdle(): Promise<void> {
    await Promise.all([...this.#open].map((connection) => connection.endIfIdle()));
  }
}
