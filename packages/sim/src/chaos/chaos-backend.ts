import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerJson, type BackendRequest, type FakeBackend, openFakeBackend, type Rng } from '@tidemark/testing/kit';
import type { Attributes, ObjectsGiven } from '../model/write.ts';
import { QueryChecker } from './query-checker.ts';

export const BACKEND_SECRET = 'shared with the backend';
const DELAY_MS_MAX = 200;
/** In percent, while faults are on. */
const FAILS = 8;
const ANSWER_LOST = 8;
const DELAYED = 20;

interface UploadBody {
  readonly source: string;
  readonly op_id: string;
  readonly id: string;
  readonly user_id: string;
  readonly attributes?: Attributes;
}

/** The backend of the sources Task and Trip over HTTP. It performs every upload once, whatever is repeated, and fails on purpose. */
export class ChaosBackend {
  isDown = false;
  hasFaults = false;
  readonly problems: string[] = [];
  readonly queries = new QueryChecker();
  readonly #backend: FakeBackend;
  readonly #rng: Rng;
  readonly #objects = new Map<string, Map<string, Attributes>>();
  /** What each upload asked for, by op_id. */
  readonly #performed = new Map<string, string>();

  private constructor(backend: FakeBackend, rng: Rng) {
    this.#backend = backend;
    this.#rng = rng;
    backend.on('authenticate', (_, response) => response.writeHead(404).end());
    backend.on('query', ({ body }, response) => {
      const [source, user] = [String(body.source), String(body.user_id)];
      // It closes with the answer, or with the death of the server that asked.
      response.once('close', this.queries.begin(JSON.stringify([source, user])));
      return this.#answer(response, () => Object.fromEntries(this.#of(source, user)));
    });
    for (const call of ['create', 'update', 'delete']) {
      backend.on(call, (request, response) => this.#answer(response, () => this.#perform(request)));
    }
  }

  static async open(rng: Rng): Promise<ChaosBackend> {
    return new ChaosBackend(await openFakeBackend(() => BACKEND_SECRET), rng);
  }

  get url(): string {
    return this.#backend.url;
  }

  /** How many different uploads it has performed. */
  get performed(): number {
    return this.#performed.size;
  }

  objects(source: string, user: string): ObjectsGiven {
    return Object.fromEntries(this.#of(source, user));
  }

  close(): Promise<void> {
    return this.#backend.close();
  }

  async #answer(response: ServerResponse, perform: () => unknown): Promise<void> {
    const roll = this.hasFaults ? this.#rng.below(100) : 100;
    if (this.isDown) return void response.destroy();
    if (roll < FAILS) return answerJson(response, {}, 500);
    if (roll >= 100 - DELAYED) await sleep(this.#rng.below(DELAY_MS_MAX));
    const answer = perform();
    if (roll < FAILS + ANSWER_LOST) return void response.destroy();
    answerJson(response, answer);
  }

  #perform({ call, body, isSigned }: BackendRequest): unknown {
    const { op_id: opId, source, id, user_id: user, attributes } = body as unknown as UploadBody;
    const asked = JSON.stringify([call, source, id, user, attributes]);
    const before = this.#performed.get(opId);
    if (!isSigned) this.problems.push(`the backend got an unsigned ${call}`);
    if (before !== undefined && before !== asked) {
      this.problems.push(`the upload ${opId} was first ${before} and then ${asked}`);
    }
    if (before === undefined) {
      const objects = this.#of(source, user);
      if (call === 'delete') objects.delete(id);
      else objects.set(id, { ...objects.get(id), ...attributes });
      this.#performed.set(opId, asked);
    }
    return call === 'create' ? { id } : {};
  }

  #of(source: string, user: string): Map<string, Attributes> {
    const key = JSON.stringify([source, user]);
    const known = this.#objects.get(key) ?? new Map<string, Attributes>();
    this.#objects.set(key, known);
    return known;
  }
}
