import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ApnsCounts, ApnsIdentity, FromApns, ToApns } from './apns-process.ts';

/** The stand-in of APNs as seen from the process that measures. */
export class ApnsService {
  readonly #child: ChildProcess;
  readonly origin: string;

  private constructor(child: ChildProcess, origin: string) {
    this.#child = child;
    this.origin = origin;
  }

  static async open(identity: ApnsIdentity): Promise<ApnsService> {
    const child = fork(fileURLToPath(new URL('./apns-process.js', import.meta.url)));
    const answer = await ask(child, { kind: 'open', identity });
    if (answer.kind !== 'ready') throw new Error('the stand-in did not open');
    return new ApnsService(child, answer.origin);
  }

  async counts(): Promise<ApnsCounts> {
    const answer = await ask(this.#child, { kind: 'count' });
    if (answer.kind !== 'counts') throw new Error('the stand-in did not count');
    return answer;
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}

async function ask(child: ChildProcess, message: ToApns): Promise<FromApns> {
  const answered = once(child, 'message');
  child.send(message);
  const [answer] = await answered;
  return answer as FromApns;
}
