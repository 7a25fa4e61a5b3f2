import { createHash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUS_TEXT_UNITS_MAX, type Bus, type BusListener } from '@tidemark/core/ports';

export interface EmbeddedBusOptions {
  /** The data folder. Processes that open the same one share a bus. */
  readonly folder: string;
}

/** The folder of the sockets, inside the data folder. Nothing in it outlives the processes. */
const BUS_FOLDER = 'bus';
const SUFFIX = '.sock';
const NAME = /^(\d+)-[0-9a-f]{12}\.sock$/;
/** The longest path of a socket that every system accepts. */
const PATH_BYTES_MAX = 100;
/** How often a process looks for others that it has no connection to. */
const DISCOVERY_EVERY_MS = 2_000;
/** Bytes a process may leave unread before its connection is closed. It reconnects and learns that it missed something. */
const UNREAD_BYTES_MAX = 4 * 2 ** 20;
const PEERS_MAX = 256;
/** How long a new peer may take to send its name. */
const GREETING_MS_MAX = 1_000;
/** How long closing waits for published texts to be sent. */
const FLUSH_MS_MAX = 200;

/** A bus between processes on one machine. Each listens on a socket of its own, and a new one connects to all others. */
export async function openEmbeddedBus({ folder }: EmbeddedBusOptions, listener: BusListener): Promise<Bus> {
  const bus = new SocketBus(socketFolder(folder), listener);
  await bus.open();
  return bus;
}

class SocketBus implements Bus {
  readonly #folder: string;
  readonly #name = `${process.pid}-${randomBytes(6).toString('hex')}${SUFFIX}`;
  readonly #listener: BusListener;
  /** The connection to each peer, by the name of its socket. */
  readonly #peers = new Map<string, Socket>();
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(folder: string, listener: BusListener) {
    this.#folder = folder;
    this.#listener = listener;
  }

  /** Listens before it looks for peers: of two processes that start together, at least the later one finds the other. */
  async open(): Promise<void> {
    await this.#listen();
    await this.#discover();
    this.#timer = setInterval(() => void this.#discoverAgain(), DISCOVERY_EVERY_MS);
    this.#timer.unref();
  }

  publish(text: string): void {
    for (const socket of this.#peers.values()) send(socket, text);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    clearInterval(this.#timer);
    await Promise.all([...this.#sockets].map(endSocket));
    await new Promise<void>((resolve) => (this.#server === null ? resolve() : this.#server.close(() => resolve())));
    rmSync(this.#path(this.#name), { force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  #listen(): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    this.#server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.#path(this.#name), () => {
        server.off('error', reject);
        server.on('error', () => undefined);
        server.unref();
        resolve();
      });
    });
  }

  /** Listens again when somebody removed the socket: no peer would find this process any more. */
  async #discoverAgain(): Promise<void> {
    if (!existsSync(this.#path(this.#name))) {
      this.#server?.close();
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      await this.#listen().catch(() => undefined);
    }
    if (this.#isOpen) await this.#discover();
  }

  /** Connects to new peers. Resolves when all that answer know this process. */
  async #discover(): Promise<void> {
    const names = namesIn(this.#folder).filter((name) => name !== this.#name && !this.#peers.has(name));
    await Promise.all(names.slice(0, PEERS_MAX - this.#peers.size).map((name) => this.#connect(name)));
  }

  /** Both sides send their name first. Who has received the name of the other knows that the other listens. */
  #connect(name: string): Promise<void> {
    const socket = createConnection(this.#path(name));
    this.#peers.set(name, socket);
    socket.once('error', () => this.#removeDead(name));
    socket.once('close', () => this.#disconnect(name, socket));
    socket.write(`${this.#name}\n`);
    return new Promise((resolve) => {
      const late = setTimeout(resolve, GREETING_MS_MAX);
      socket.once('close', resolve);
      this.#read(socket, () => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  /** Removes the socket of a process that no longer exists. */
  #removeDead(name: string): void {
    const [, pid] = NAME.exec(name) ?? [];
    if (!isAlive(Number(pid))) rmSync(this.#path(name), { force: true });
  }

  #accept(socket: Socket): void {
    this.#read(socket, (name) => {
      if (!NAME.test(name) || this.#peers.size >= PEERS_MAX) return void socket.destroy();
      this.#peers.set(name, socket);
      socket.once('close', () => this.#disconnect(name, socket));
      socket.write(`${this.#name}\n`);
    });
  }

  #disconnect(name: string, socket: Socket): void {
    if (this.#peers.get(name) === socket) this.#peers.delete(name);
  }

  /** The first line is the name of the peer. */
  #read(socket: Socket, onName: (name: string) => void): void {
    let isKnown = false;
    this.#sockets.add(socket);
    socket.setEncoding('utf8').unref();
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    readLines(socket, (line) => {
      if (isKnown) return this.#listener.onText(line);
      isKnown = true;
      onName(line);
    });
  }
}

function send(socket: Socket, text: string): void {
  if (socket.writableLength > UNREAD_BYTES_MAX) socket.destroy();
  else socket.write(`${text}\n`);
}

/** Closes a connection after what was written has been sent, unless the peer does not read. */
function endSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve();
    const cutOff = setTimeout(() => socket.destroy(), FLUSH_MS_MAX);
    socket.once('close', () => {
      clearTimeout(cutOff);
      resolve();
    });
    socket.end(() => socket.destroy());
  });
}

function readLines(socket: Socket, onLine: (line: string) => void): void {
  let rest = '';
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > BUS_TEXT_UNITS_MAX) return void socket.destroy();
    for (const line of lines) onLine(line);
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => NAME.test(name));
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Returns the folder of the sockets. It is inside the data folder, so only users who may open the store can connect. When
 * the path is too long for a socket, it is a private folder whose name is derived from the path.
 */
function socketFolder(folder: string): string {
  const inside = join(realpathSync(folder), BUS_FOLDER);
  const longest = join(inside, `${2 ** 22}-${'f'.repeat(12)}${SUFFIX}`);
  if (Buffer.byteLength(longest) <= PATH_BYTES_MAX) return requirePrivate(inside);
  const word = createHash('sha256').update(inside).digest('hex').slice(0, 24);
  return requirePrivate(join(tmpdir(), `tidemark-bus-${word}`));
}

function requirePrivate(folder: string): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (!lstatSync(folder).isDirectory() || !isOurs || (mode & 0o077) !== 0) {
    throw new Error(`${folder} must be a folder that only this user may open`);
  }
  return folder;
}
