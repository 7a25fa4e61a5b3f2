import type { SourceTypes, Untyped } from '@tidemark/protocol';
import { systemPlatform } from '../platform.ts';
import { idText, ObjectFlaw } from '../push/objects.ts';
import {
  inProcessOperations,
  inProcessReplays,
  type OperationMemory,
  type ReplayMemory,
  type StoredAnswer,
} from './memory.ts';
import { objectsAnswer } from './objects-answer.ts';
import { PROBLEMS, problemAnswer, problemBody } from './problem-answer.ts';
import { CallFlaw, type CallName, isCallName, type ReadCall, readBody, readCall } from './read-call.ts';
import { SignatureAlarm, SignatureError, signatureDetail } from './signature-alarm.ts';
import {
  type Authenticate,
  type CallContext,
  type HandlersBySource,
  type SourceHandlers,
  UNCHANGED,
  type UploadCall,
} from './source-handlers.ts';
import { Conflict, Rejected } from './verdicts.ts';
import { readSignedHeaders, SignatureKeys, type SignatureProblem, type SignedHeaders } from './verify-signature.ts';

export interface HandlerOptions<S extends SourceTypes = Untyped> {
  /**
   * The `TIDEMARK_BACKEND_SECRET` of the server; several while it is being changed. An undefined one, such as a missing
   * environment variable, is an error when the handler is created.
   */
  readonly secret: string | undefined | readonly (string | undefined)[];
  /** Absent: devices cannot log in through this backend. */
  readonly authenticate?: Authenticate;
  /** The handlers of each source, by name. */
  readonly sources: HandlersBySource<S>;
  /** The largest difference between the clocks of server and backend, and the time a message stays valid. */
  readonly toleranceS?: number;
  readonly bodyBytesMax?: number;
  readonly replays?: ReplayMemory;
  readonly operations?: OperationMemory;
  /**
   * Called with every error that was answered as 500 or 502, with errors of answers that broke off, and with calls whose signature
   * is not accepted (a `SignatureError`, at most one a minute for each reason). Absent: errors go to the console.
   */
  readonly onError?: (error: unknown, call: { readonly name: CallName; readonly source: string | null }) => void;
  readonly nowMs?: () => number;
}

export type Handler = (request: Request) => Promise<Response>;

const TOLERANCE_S = 300;
/** Tidemark accepts no larger change from a device. */
const BODY_BYTES_MAX = 12_000_000;

/**
 * Returns a function that handles the calls of Tidemark to a backend: `POST {adapter_url}/<call>`, where `<call>` is the
 * last part of the path. The signature of every call is verified before the call is read. `S` are the types of the sources, if the
 * backend has them; attributes that come from devices are not checked against them.
 */
export function createHandler<S extends SourceTypes = Untyped>(options: HandlerOptions<NoInfer<S>>): Handler {
  const calls = new CallHandler(options as HandlerOptions);
  return (request) => calls.answer(request);
}

class CallHandler {
  readonly #options: HandlerOptions;
  readonly #keys: SignatureKeys;
  readonly #alarm = new SignatureAlarm();
  readonly #toleranceS: number;
  readonly #sources: ReadonlyMap<string, SourceHandlers>;
  readonly #replays: ReplayMemory;
  readonly #operations: OperationMemory;
  /** Uploads in progress. A repetition that arrives meanwhile waits for the same answer. */
  readonly #underWay = new Map<string, Promise<StoredAnswer>>();

  constructor(options: HandlerOptions) {
    this.#options = options;
    this.#keys = new SignatureKeys([options.secret].flat());
    this.#toleranceS = options.toleranceS ?? TOLERANCE_S;
    this.#sources = new Map(Object.entries(options.sources));
    this.#replays = options.replays ?? inProcessReplays();
    this.#operations = options.operations ?? inProcessOperations();
  }

  async answer(request: Request): Promise<Response> {
    const name = new URL(request.url).pathname.split('/').at(-1) ?? '';
    if (!isCallName(name)) return problemAnswer('call_not_found', 'the path ends with none of the calls');
    if (request.method !== 'POST') return problemAnswer('method_not_allowed', 'calls are made by POST');
    try {
      return await this.#verified(name, request);
    } catch (error) {
      return this.#failed(error, name, null);
    }
  }

  async #verified(name: CallName, request: Request): Promise<Response> {
    const nowMs = this.#nowMs();
    const signed = readSignedHeaders(request.headers, nowMs, this.#toleranceS);
    if (typeof signed === 'string') return this.#unsigned(signed, name);
    const body = await readBody(request, this.#options.bodyBytesMax ?? BODY_BYTES_MAX);
    if (body === null) return problemAnswer('body_too_large', 'the body is larger than this backend reads');
    if (!(await this.#keys.verify(signed, body))) return this.#unsigned('signature_invalid', name);
    const read = callIn(name, body);
    if (read instanceof CallFlaw) return problemAnswer('invalid_request', `the call ${read.message}`);
    const isFirst = await this.#isFirst(signed, nowMs);
    return this.#dispatch(read, isFirst, { signal: request.signal, webhookId: signed.id });
  }

  #unsigned(problem: SignatureProblem, name: CallName): Response {
    const error = this.#alarm.report(problem, this.#nowMs());
    if (error !== null) this.#report(error, name, null);
    return problemAnswer(problem, signatureDetail(problem));
  }

  /** Tidemark signs each repetition again, so an identical message is a replay by somebody else. */
  async #isFirst({ id, timestampS }: SignedHeaders, nowMs: number): Promise<boolean> {
    return this.#replays.firstSeen(`${timestampS}.${id}`, (timestampS + this.#toleranceS) * 1_000, nowMs);
  }

  async #dispatch(read: ReadCall, isFirst: boolean, context: CallContext): Promise<Response> {
    switch (read.name) {
      case 'create':
      case 'update':
      case 'delete':
        return this.#upload(read, isFirst, context);
      default:
        return isFirst ? this.#ask(read, context) : replayed();
    }
  }

  async #ask(read: Exclude<ReadCall, UploadRead>, context: CallContext): Promise<Response> {
    if (read.name === 'authenticate') return this.#authenticate(read, context);
    const { source } = read.call;
    const handlers = this.#sources.get(source);
    if (handlers?.[read.name] === undefined) return notHandled(read.name, source);
    try {
      const objects = await (read.name === 'query'
        ? handlers.query?.(read.call, context)
        : handlers.search?.(read.call, context));
      if (objects === UNCHANGED) return new Response(null, { status: 204 });
      return await objectsAnswer(given(objects), (error) => this.#report(error, read.name, source));
    } catch (error) {
      if (error instanceof Rejected) return problemAnswer('rejected', error.message);
      return this.#failed(error, read.name, source);
    }
  }

  async #authenticate({ name, call }: ReadCall & { name: 'authenticate' }, context: CallContext): Promise<Response> {
    const { authenticate } = this.#options;
    if (authenticate === undefined) return problemAnswer('source_not_handled', 'this backend authenticates nobody');
    try {
      const user = await authenticate(call, context);
      if (user === null) return problemAnswer('invalid_credentials', 'login or password is wrong');
      if (typeof user !== 'object')
        throw new ObjectFlaw('authenticate must return { user_id }, or null to refuse the login');
      return Response.json({ user_id: user.user_id, groups: user.groups });
    } catch (error) {
      return this.#failed(error, name, null);
    }
  }

  async #upload(read: UploadRead, isFirst: boolean, context: CallContext): Promise<Response> {
    const handlers = this.#sources.get(read.call.source);
    if (handlers === undefined) return notHandled(read.name, read.call.source);
    const key = operationKey(read);
    const kept = this.#underWay.get(key) ?? (await this.#operations.recall(key));
    if (kept !== undefined) return answerOf(await kept);
    // The message was seen before, but its answer is not remembered. Tidemark has to sign and send it again.
    if (!isFirst) return replayed();
    const work = this.#perform(read, handlers, key, context);
    this.#underWay.set(key, work);
    try {
      return answerOf(await work);
    } finally {
      this.#underWay.delete(key);
    }
  }

  async #perform(read: UploadRead, handlers: SourceHandlers, key: string, context: CallContext): Promise<StoredAnswer> {
    const { source } = read.call;
    let answer: StoredAnswer;
    try {
      answer = { status: 200, body: await effectOf(read, handlers, context) };
    } catch (error) {
      if (error instanceof Conflict) answer = { status: 409, body: problemBody('conflict', error.message) };
      else if (error instanceof Rejected) answer = { status: 422, body: problemBody('rejected', error.message) };
      else {
        this.#report(error, read.name, source);
        // A temporary failure is not remembered, because Tidemark tries again.
        const { code, detail } = failureOf(error);
        return { status: PROBLEMS[code].status, body: problemBody(code, detail) };
      }
    }
    try {
      await this.#operations.keep(key, answer);
    } catch (error) {
      // The change was made, so the answer is a success although remembering it failed.
      this.#report(error, read.name, source);
    }
    return answer;
  }

  #failed(error: unknown, name: CallName, source: string | null): Response {
    this.#report(error, name, source);
    const { code, detail } = failureOf(error);
    return problemAnswer(code, detail);
  }

  #report(error: unknown, name: CallName, source: string | null): void {
    const { onError = sayOnConsole } = this.#options;
    try {
      onError(error, { name, source });
    } catch {
      // An error of `onError` does not change the answer.
    }
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? systemPlatform.nowMs)();
  }
}

type UploadRead = Extract<ReadCall, { readonly name: 'create' | 'update' | 'delete' }>;

/** The body of a success. */
async function effectOf(read: UploadRead, handlers: SourceHandlers, context: CallContext): Promise<string> {
  const cannot = () => new Rejected(`${read.call.source} takes no ${read.name} from devices`);
  switch (read.name) {
    case 'create': {
      if (handlers.create === undefined) throw cannot();
      const id = idText((await handlers.create(read.call, context))?.id);
      if (id === null) throw new ObjectFlaw('create must return { id }, a text that is not empty or a whole number');
      return JSON.stringify({ id });
    }
    case 'update':
      if (handlers.update === undefined) throw cannot();
      return doneText(await handlers.update(read.call, context));
    default:
      if (handlers.delete === undefined) throw cannot();
      return doneText(await handlers.delete(read.call, context));
  }
}

function doneText(done: Awaited<ReturnType<NonNullable<SourceHandlers['update']>>>): string {
  return done?.pushed === true ? '{"pushed":true}' : '{}';
}

/** A query that forgot to return is a mistake; taken for an empty answer it would empty all devices. */
function given<T>(objects: T | undefined): T {
  if (typeof objects === 'object' && objects !== null) return objects;
  throw new ObjectFlaw('query and search must return objects');
}

/** What is wrong with a returned value helps the operator; any other error may hold internals. */
function failureOf(error: unknown): { readonly code: 'wrong_answer' | 'internal'; readonly detail: string } {
  if (error instanceof ObjectFlaw) return { code: 'wrong_answer', detail: error.message };
  return { code: 'internal', detail: 'the backend failed' };
}

function sayOnConsole(error: unknown, { name, source }: { readonly name: CallName; readonly source: string | null }) {
  const call = `${name}${source === null ? '' : ` of ${source}`}`;
  // The stack of a signature error says nothing useful, that of a failed handler does.
  if (error instanceof SignatureError) console.error(`tidemark backend: ${call}: ${error.message}`);
  else console.error(`tidemark backend: ${call} failed`, error);
}

function callIn(name: CallName, body: Uint8Array): ReadCall | CallFlaw {
  try {
    return readCall(name, body);
  } catch (error) {
    if (error instanceof CallFlaw) return error;
    throw error;
  }
}

/** The key of a remembered answer: the `op_id`, and fields that differ after a reset of the server. */
function operationKey({ name, call }: UploadRead): string {
  const { source, user_id, op_id, id }: UploadCall = call;
  return JSON.stringify([name, source, user_id, op_id, id]);
}

function answerOf({ status, body }: StoredAnswer): Response {
  const type = status === 200 ? 'application/json' : 'application/problem+json';
  return new Response(body, { status, headers: { 'content-type': type } });
}

function notHandled(name: CallName, source: string): Response {
  return problemAnswer('source_not_handled', `this backend has no ${name} for ${JSON.stringify(source)}`);
}

function replayed(): Response {
  return problemAnswer('replayed', 'this very message was seen before; sign it anew to try again');
}
