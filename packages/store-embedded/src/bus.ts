import { createHash, randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUS_TEXT_UNITS_MAX, type Bus, type BusListener } from '@tidemark/core/ports';

export interface EmbeddedBusOptions {
  /** The data folder. Processes that share it hear each other. */
  readonly folder: string;
}

/** The part of the data folder in which processes find each other. Nothing in it outlives them. */
const BUS_FOLDER = 'bus';
const SUFFIX = '.sock';
const NAME = /^(\d+)-[0-9a-f]{12}\.sock$/;
/** How long the path of a socket may be on every system. */
const PATH_BYTES_MAX = 100;
/** How often is looked for processes that were not met when they started. */
const LOOK_EVERY_MS = 2_000;
/** What a process may leave unread before it is cut off; it comes back and is told that it missed something. */
const UNREAD_BYTES_MAX = 4 * 2 ** 20;
const OTHERS_MAX = 256;
/** How long one that was just met may take to say who it is. */
const GREETING_MS_MAX = 1_000;
/** How long what was published last may take to leave. */
const END_MS_MAX = 200;

/** Between processes on one machine: each listens at a socket of its own, and whoever comes connects to all others. */
export async function openEmbeddedBus({ folder }: EmbeddedBusOptions, listener: BusListener): Promise<Bus> {
  const bus = new SocketBus(placeFor(folder), listener);
  await bus.open();
  return bus;
}

class SocketBus implements Bus {
  readonly #place: string;
  readonly #name = `${process.pid}-${randomBytes(6).toString('hex')}${SUFFIX}`;
  readonly #listener: BusListener;
  /** The connection to each of the others, by the name of its socket. */
  readonly #others = new Map<string, Socket>();
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(place: string, listener: BusListener) {
    this.#place = place;
    this.#listener = listener;
  }

  /** Listening comes before looking: of two that start together, at least the later one sees the other. */
  async open(): Promise<void> {
    await this.#listenHere();
    await this.#look();
    this.#timer = setInterval(() => void this.#lookAgain(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  publish(text: string): void {
    for (const socket of this.#others.values()) send(socket, text);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    clearInterval(this.#timer);
    await Promise.all([...this.#sockets].map(ended));
    await new Promise<void>((resolve) => (this.#server === null ? resolve() : this.#server.close(() => resolve())));
    rmSync(this.#path(this.#name), { force: true });
  }

  #path(name: string): string {
    return join(this.#place, name);
  }

  #listenHere(): Promise<void> {
    const server = createServer((socket) => this.#welcome(socket));
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

  /** Somebody may have cleared the folder away; then nobody would find us any more. */
  async #lookAgain(): Promise<void> {
    if (!existsSync(this.#path(this.#name))) {
      this.#server?.close();
      mkdirSync(this.#place, { recursive: true, mode: 0o700 });
      await this.#listenHere().catch(() => undefined);
    }
    if (this.#isOpen) await this.#look();
  }

  /** Resolves when all that answer know of us. */
  async #look(): Promise<void> {
    const names = namesIn(this.#place).filter((name) => name !== this.#name && !this.#others.has(name));
    await Promise.all(names.slice(0, OTHERS_MAX - this.#others.size).map((name) => this.#connect(name)));
  }

  /** Both say who they are; whoever has heard the other's name knows that the other hears. */
  #connect(name: string): Promise<void> {
    const socket = createConnection(this.#path(name));
    this.#others.set(name, socket);
    socket.once('error', () => this.#forgetDead(name));
    socket.once('close', () => this.#part(name, socket));
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

  /** The process is gone, and with it everybody who could ever answer there. */
  #forgetDead(name: string): void {
    const [, pid] = NAME.exec(name) ?? [];
    if (!isAlive(Number(pid))) rmSync(this.#path(name), { force: true });
  }

  #welcome(socket: Socket): void {
    this.#read(socket, (name) => {
      if (!NAME.test(name) || this.#others.size >= OTHERS_MAX) return void socket.destroy();
      this.#others.set(name, socket);
      socket.once('close', () => this.#part(name, socket));
      socket.write(`${this.#name}\n`);
    });
  }

  #part(name: string, socket: Socket): void {
    if (this.#others.get(name) === socket) this.#others.delete(name);
  }

  /** The first line says who it is. */
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

/** Ends a connection so that what was written before arrives, unless nobody reads it. */
function ended(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) return resolve();
    const cutOff = setTimeout(() => socket.destroy(), END_MS_MAX);
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

function namesIn(place: string): readonly string[] {
  try {
    return readdirSync(place).filter((name) => NAME.test(name));
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
 * In the data folder, where everybody who may open the store can come and nobody else. A path too long for a socket is
 * replaced by one that follows from it, in a folder that must be ours alone.
 */
function placeFor(folder: string): string {
  const inside = join(realpathSync(folder), BUS_FOLDER);
  const longest = join(inside, `${2 ** 22}-${'f'.repeat(12)}${SUFFIX}`);
  if (Buffer.byteLength(longest) <= PATH_BYTES_MAX) return madePrivate(inside);
  const word = createHash('sha256').update(inside).digest('hex').slice(0, 24);
  return madePrivate(join(tmpdir(), `tidemark-bus-${word}`));
}

function madePrivate(place: string): string {
  mkdirSync(place, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(place);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (!lstatSync(place).isDirectory() || !isOurs || (mode & 0o077) !== 0) {
    throw new Error(`${place} must be a folder that only this user may open`);
  }
  return place;
}
