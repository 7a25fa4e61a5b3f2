import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createHandler, type Handler } from '@tidemark/backend';
import { nodeListener } from '@tidemark/backend/node';
import { type Device, openDevice } from '@tidemark/client';
import { parseDatabaseUrl, RowBackend, systemClock, type WriteHook } from '@tidemark/postgres';
import { expect, onTestFinished } from 'vitest';
import { type Link, openLink, type Servers, type Tables } from './link.ts';

const PASSWORD = 'kelp-forest-9341';
const WAIT = { timeout: 120_000, interval: 30 };
const OPERATIONS = [
  'CREATE SCHEMA tidemark',
  'CREATE TABLE tidemark.operations (op_id text PRIMARY KEY, object_id text NOT NULL, at timestamptz NOT NULL DEFAULT now())',
];

export interface WrittenLinkOptions {
  readonly hooks?: Readonly<Record<string, WriteHook>>;
}

/** A connector whose devices may write: Tidemark calls it as its backend. */
export class WrittenLink {
  readonly link: Link;
  readonly backend: RowBackend;
  /** How many of the next answers are lost on their way, after the change was made. */
  answersToLose = 0;
  /** Called before an answer is sent, after the change was made. */
  beforeAnswer: () => Promise<void> = async () => undefined;
  readonly #servers: Servers;
  readonly #listener: Server;

  constructor(servers: Servers, link: Link, { hooks = {} }: WrittenLinkOptions) {
    this.#servers = servers;
    this.link = link;
    const address = parseDatabaseUrl(link.database.url);
    const { client, name, mapping } = link;
    this.backend = new RowBackend({
      client,
      name,
      address,
      mapping,
      mappingFile: 'map.jsonc',
      hooks,
      isAlone: true,
      clock: systemClock,
    });
    link.onPosition = (position) => this.backend.notePosition(position);
    this.#listener = createServer((request, response) => nodeListener(this.#handler)(request, response));
  }

  #handler: Handler = async () => new Response(null, { status: 503 });

  async open(): Promise<void> {
    const { client } = this.link;
    const operations = { recall: () => undefined, keep: () => undefined };
    const { secret } = await client.system.backendSecret();
    const sources = this.backend.handlers();
    const handler = createHandler({ secret: secret ?? undefined, sources, operations, onError: () => undefined });
    this.#handler = async (request) => {
      const answer = await handler(request);
      await this.beforeAnswer();
      if (this.answersToLose === 0) return answer;
      this.answersToLose--;
      throw new Error('the answer is lost');
    };
    await new Promise<void>((resolve) => this.#listener.listen(0, '127.0.0.1', resolve));
    const { port } = this.#listener.address() as AddressInfo;
    await client.system.setAppserver(`http://127.0.0.1:${port}`);
    this.link.start({ adapter: 'backend' });
    await this.link.copied();
  }

  /** Opens a device of a user, which is created if there is none, and brings it up to date. */
  async device(name: string, groups: readonly string[] = []): Promise<Device> {
    const login = this.link.own(name);
    const { client } = this.link;
    await client.users.create({ login, password: PASSWORD }).catch(() => undefined);
    if (groups.length > 0)
      await client.groups.add(
        login,
        groups.map((group) => this.link.own(group)),
      );
    const device = await openDevice({ url: this.#servers.tidemark.url });
    onTestFinished(() => device.close());
    await device.signIn({ login, password: PASSWORD });
    await device.sync();
    return device;
  }

  /** Waits until the device shows exactly these objects, and nothing waits to be sent. */
  async shows(device: Device, source: string, objects: Readonly<Record<string, unknown>>): Promise<void> {
    const shown = () => [device.uploads.getSnapshot().length, this.objects(device, source)];
    await expect.poll(shown, WAIT).toEqual([0, objects]);
  }

  objects(device: Device, source: string): Readonly<Record<string, unknown>> {
    const list = device.source(this.link.own(source)).list();
    return Object.fromEntries(list.map(({ id, attributes }) => [id, attributes]));
  }

  async rows(statement: string): Promise<readonly unknown[]> {
    return [...(await this.link.database.sql.unsafe(statement))];
  }

  async close(): Promise<void> {
    this.#listener.closeAllConnections();
    this.#listener.close();
    await this.backend.close();
  }
}

/** Makes a database with these tables, a connector whose devices may write, and starts both. */
export async function openWrittenLink(
  servers: Servers,
  statements: readonly string[],
  mapping: (own: (name: string) => string) => Tables,
  options: WrittenLinkOptions = {},
): Promise<WrittenLink> {
  const link = await openLink(servers, [...OPERATIONS, ...statements], mapping);
  const written = new WrittenLink(servers, link, options);
  onTestFinished(() => written.close());
  await written.open();
  return written;
}
