import { Client } from 'pg';
import { type Clock, systemClock } from '../clock.ts';
import { clientConfig } from '../sql/client-config.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { quoteIdentifier, quoteLiteral } from '../sql/quote.ts';
import { CopyBoth } from './copy-both.ts';
import { formatLsn, parseLsn } from './lsn.ts';
import type { Lsn } from './message.ts';
import { ReplicationStream } from './replication-stream.ts';

/** Which database it is. A restored or another one has another identifier; one that took over has another timeline. */
export interface SystemIdentity {
  readonly systemId: string;
  readonly timeline: number;
  /** Where its log ends. */
  readonly lsn: Lsn;
}

export interface StartReplication {
  readonly slot: string;
  readonly publication: string;
  /** Where to begin. The server begins where the slot was last acknowledged, when that is later. */
  readonly from?: Lsn;
}

/** A connection that streams the changes of a database. Nothing is connected before the first call. */
export class ReplicationConnection {
  readonly #client: Client;
  readonly #clock: Clock;
  #connected: Promise<unknown> | null = null;
  #stream: ReplicationStream | null = null;
  #isClosed = false;

  private constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    // The command that runs hears of it as well.
    client.on('error', () => undefined);
  }

  static open(
    address: DatabaseAddress,
    clock: Clock = systemClock,
    applicationName = 'tidemark',
  ): ReplicationConnection {
    const config = { ...clientConfig(address, applicationName, 'catalogue'), replication: 'database' };
    return new ReplicationConnection(new Client(config), clock);
  }

  async identify(): Promise<SystemIdentity> {
    const row = await this.#row('IDENTIFY_SYSTEM');
    return { systemId: String(row.systemid), timeline: Number(row.timeline), lsn: parseLsn(String(row.xlogpos)) };
  }

  /** Begins to stream; may be called once. */
  async start({ slot, publication, from = 0n }: StartReplication): Promise<ReplicationStream> {
    const { setting } = await this.#row(`SELECT setting FROM pg_settings WHERE name = 'wal_sender_timeout'`);
    const options = `proto_version '1', publication_names ${quoteLiteral(quoteIdentifier(publication))}, messages 'true'`;
    const command = `START_REPLICATION SLOT ${quoteIdentifier(slot)} LOGICAL ${formatLsn(from)} (${options})`;
    const duplex = await CopyBoth.start(this.#client, command);
    this.#stream = new ReplicationStream(duplex, { clock: this.#clock, senderTimeoutMs: Number(setting) });
    return this.#stream;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stream?.close();
    this.#client.connection.stream.destroy();
  }

  async #row(command: string): Promise<Readonly<Record<string, unknown>>> {
    if (this.#isClosed) throw new Error('the replication connection is closed');
    this.#connected ??= this.#client.connect();
    await this.#connected;
    const { rows } = await this.#client.query<Readonly<Record<string, unknown>>>(command);
    if (rows[0] === undefined) throw new Error(`the server did not answer ${command}`);
    return rows[0];
  }
}
