import { Rng, seededRandom } from '@tidemark/client-testing';
import { errorMessage, REFUSALS } from '@tidemark/protocol';
import type { Answer, Outgoing, Sender } from '../../kit/sender.ts';
import type { AnswerChecker } from '../answer-checker.ts';
import type { Endpoint } from '../api-document.ts';
import { drawRequest } from './draw-request.ts';

export interface Fuzzing {
  readonly sender: Sender;
  readonly checker: AnswerChecker;
  readonly endpoints: readonly Endpoint[];
  readonly seed: number;
  readonly requests: number;
  /** Returns a valid token; called again when an answer says that the last one is invalid. */
  readonly issueToken: () => Promise<string>;
  /** The same for the routes of devices. */
  readonly issueDeviceToken: () => Promise<string>;
  /** Creates what requests refer to. Called at the beginning and after a reset. */
  readonly populate: () => Promise<void>;
}

export interface FuzzReport {
  /** Counts answers by endpoint and status. */
  readonly answers: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const FAILURES_MAX = 10;
const FURNISH_EVERY = 100;

/** Sends valid, nearly valid and invalid requests, and checks every answer against the description. */
export async function fuzzServer(fuzzing: Fuzzing): Promise<FuzzReport> {
  const answers = new Map<string, number>();
  const failures: string[] = [];
  let tokens = await issueTokens(fuzzing);
  for (let index = 0; index < fuzzing.requests && failures.length < FAILURES_MAX; index++) {
    if (index % FURNISH_EVERY === 0) await fuzzing.populate();
    const { endpoint, outgoing } = drawAt(fuzzing, index, tokens);
    const answer = await answerOf(fuzzing.sender, outgoing);
    const flaws = typeof answer === 'string' ? [answer] : flawsOf(fuzzing.checker, outgoing, answer);
    if (flaws.length > 0) failures.push(failureText({ seed: fuzzing.seed, index, outgoing }, answer, flaws));
    if (typeof answer === 'string') continue;
    const key = `${endpoint.method} ${endpoint.template} ${answer.status}`;
    answers.set(key, (answers.get(key) ?? 0) + 1);
    if (answer.status === 401) tokens = await issueTokens(fuzzing);
  }
  return { answers, failures };
}

interface FuzzTokens {
  readonly admin: string;
  readonly device: string;
}

async function issueTokens({ issueToken, issueDeviceToken, populate }: Fuzzing): Promise<FuzzTokens> {
  await populate();
  return { admin: await issueToken(), device: await issueDeviceToken() };
}

/** Every request has its own seed, so that it does not depend on the requests before it. */
function drawAt({ endpoints, seed }: Fuzzing, index: number, tokens: FuzzTokens) {
  const rng = new Rng(seededRandom(seed * 1_000_003 + index));
  const endpoint = rng.pick(endpoints);
  const isOfDevices = endpoint.template.startsWith('/sync/') !== rng.chance(3);
  return { endpoint, outgoing: drawRequest(endpoint, isOfDevices ? tokens.device : tokens.admin, rng) };
}

async function answerOf(sender: Sender, outgoing: Outgoing): Promise<Answer | string> {
  try {
    return await sender.send(outgoing);
  } catch (error) {
    return `there was no answer: ${errorMessage(error)}`;
  }
}

function flawsOf(checker: AnswerChecker, outgoing: Outgoing, answer: Answer): readonly string[] {
  // The root shows browsers the console.
  if (answer.status === 302 && answer.headers.location === '/console/') return [];
  try {
    return [...refusalFlaws(answer), ...checker.check(outgoing, answer)];
  } catch (error) {
    return [`the answer cannot be read: ${errorMessage(error)}`];
  }
}

const SUCCESSES: ReadonlySet<number> = new Set([200, 201, 204]);

/** Checks that a refusal has a code of the catalogue with its status, and is no internal error. */
function refusalFlaws({ status, headers, text }: Answer): readonly string[] {
  if (status < 400) return SUCCESSES.has(status) ? [] : [`the status is ${status}`];
  if (status >= 500 && status !== 503) return [`the status is ${status}`];
  if (headers['content-type'] !== 'application/problem+json' || text === '') return [];
  const { code } = JSON.parse(text) as { readonly code: string };
  const known = Object.hasOwn(REFUSALS, code) ? REFUSALS[code as keyof typeof REFUSALS] : undefined;
  if (known === undefined) return [`the code ${code} is in no catalogue`];
  return known.status === status ? [] : [`${code} has the status ${known.status}, not ${status}`];
}

const SHOWN_UNITS_MAX = 1_000;

interface SentRequest {
  readonly seed: number;
  readonly index: number;
  readonly outgoing: Outgoing;
}

function failureText(
  { seed, index, outgoing }: SentRequest,
  answer: Answer | string,
  flaws: readonly string[],
): string {
  const shorten = (text: string) => (text.length > SHOWN_UNITS_MAX ? `${text.slice(0, SHOWN_UNITS_MAX)}…` : text);
  const { method, path, headers, body } = outgoing;
  const { 'x-sync-api-token': _token, ...others } = headers;
  return [
    `seed ${seed}, request ${index}: ${method} ${shorten(path)}`,
    `  headers ${JSON.stringify(others)}`,
    ...(body === null ? [] : [`  body ${shorten(JSON.stringify(body.toString()))}`]),
    ...(typeof answer === 'string' ? [] : [`  answer ${answer.status} ${shorten(answer.text)}`]),
    ...flaws.map((flaw) => `  ${flaw}`),
    `  replay: FUZZ_SEED=${seed} FUZZ_REQUESTS=${index + 1} npm test -- fuzz.test.ts`,
  ].join('\n');
}
