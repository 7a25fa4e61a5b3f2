import { connect, type Socket } from 'node:net';

/** A server that neither answers nor closes within this time hangs. */
const WAIT_MS_MAX = 300_000;

/** Sends raw bytes to a local port and returns everything received until the other side closes. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = openRaw(port);
  socket.write(bytes);
  return readToEnd(socket);
}

/** Opens a connection and ignores its errors: only the received bytes count. */
export function openRaw(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  return socket;
}

/** Returns everything received until the other side closes. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const alarm = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the socket was not closed within ${WAIT_MS_MAX} ms; it said ${JSON.stringify(text)}`));
    }, WAIT_MS_MAX);
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
    });
    const end = () => {
      clearTimeout(alarm);
      socket.destroy();
      resolve(text);
    };
    socket.once('end', end);
    socket.once('close', end);
  });
}

/** Waits until the received text contains the words, and returns all of it. */
export function readUntil(socket: Socket, words: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const alarm = setTimeout(() => reject(new Error(`there was no ${words} in ${JSON.stringify(text)}`)), WAIT_MS_MAX);
    const hear = (part: Buffer | string) => {
      text += part.toString();
      if (!text.includes(words)) return;
      clearTimeout(alarm);
      socket.off('data', hear);
      resolve(text);
    };
    socket.on('data', hear);
    socket.once('close', () => {
      clearTimeout(alarm);
      reject(new Error(`the socket closed without ${words}: ${JSON.stringify(text)}`));
    });
  });
}
