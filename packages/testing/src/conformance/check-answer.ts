import { parseJson, REFUSALS } from '@tidemark/protocol';
import type { Answer, Outgoing } from '../kit/sender.ts';
import type { Expected } from './conformance-case.ts';
import { ANY_TEXT, type CapturedValues, differences, Matcher, REQUEST_ID } from './matcher.ts';

export interface Answered {
  readonly outgoing: Outgoing;
  readonly answer: Answer;
  readonly kept: CapturedValues;
  /** Texts that no answer may contain. */
  readonly secrets: readonly string[];
}

type Refused = Extract<Expected, { readonly kind: 'refused' }>;

const JSON_TYPE = 'application/json; charset=utf-8';
const TEXT_TYPE = 'text/plain; charset=utf-8';
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
const METRICS = new Matcher('a list of measurements', (value) => /^# HELP \w+/.test(String(value)));
const LINES_TYPE = 'application/x-ndjson; charset=utf-8';
const FILE_TYPE = 'application/x-tar';
const EVENTS_TYPE = 'text/event-stream; charset=utf-8';
const PROBLEM_TYPE = 'application/problem+json';

/** Returns what is wrong with an answer: first for this case, then for every answer. */
export function checkAnswer(expected: Expected, answered: Answered): readonly string[] {
  return [...expectedProblems(expected, answered), ...commonProblems(answered)];
}

function expectedProblems(expected: Expected, answered: Answered): readonly string[] {
  const { answer, kept } = answered;
  switch (expected.kind) {
    case 'json':
      return headProblems(answer, 200, JSON_TYPE) ?? differences(expected.body, parseJson(answer.text), kept);
    case 'text':
      return headProblems(answer, 200, TEXT_TYPE) ?? differences(expected.body, answer.text, kept);
    case 'lines':
      return headProblems(answer, 200, LINES_TYPE) ?? differences(expected.lines, linesOf(answer.text), kept);
    case 'file':
      return headProblems(answer, 200, expected.type ?? FILE_TYPE) ?? [];
    case 'events':
      return headProblems(answer, 200, EVENTS_TYPE) ?? differences(expected.text, answer.text, kept);
    case 'refused':
      return headProblems(answer, REFUSALS[expected.code].status, PROBLEM_TYPE) ?? problemProblems(expected, answered);
    case 'refused_text':
      return (
        headProblems(answer, REFUSALS[expected.code].status, TEXT_TYPE) ?? differences(ANY_TEXT, answer.text, kept)
      );
    case 'metrics':
      return headProblems(answer, 200, METRICS_TYPE) ?? differences(METRICS, answer.text, kept);
    case 'bare':
      return differences({ status: expected.status, text: '' }, { status: answer.status, text: answer.text }, kept);
  }
}

/** Parses each line. */
export function linesOf(text: string): readonly unknown[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => parseJson(line) as unknown);
}

/** Returns what is wrong with status and content type; null: nothing. */
function headProblems({ status, headers }: Answer, expectedStatus: number, type: string): readonly string[] | null {
  const found = { status, type: headers['content-type'] };
  const problems = differences({ status: expectedStatus, type }, found, new Map());
  return problems.length === 0 ? null : problems;
}

/** Checks a whole problem: exactly the members of the catalogue, with the right values. */
function problemProblems({ code, pointers, headers = {} }: Refused, { answer, kept }: Answered): readonly string[] {
  const body = parseJson(answer.text) as Readonly<Record<string, unknown>>;
  const { hint, errors, ...rest } = body;
  const { status, title } = REFUSALS[code];
  const expected = {
    type: `urn:tidemark:problem:${code}`,
    title,
    status,
    detail: ANY_TEXT,
    code,
    request_id: REQUEST_ID,
  };
  const told = Object.keys(headers).map((name) => [name, answer.headers[name]]);
  return [
    ...differences(expected, rest, kept),
    ...(hint === undefined ? [] : differences(ANY_TEXT, hint, kept, '/hint')),
    ...(pointers === undefined ? [] : differences(pointers, pointersIn(errors), kept, '/errors')),
    ...(body.request_id === answer.headers['x-request-id'] ? [] : ['the header x-request-id is not the request_id']),
    ...differences(headers, Object.fromEntries(told), kept, '(headers)'),
  ];
}

function pointersIn(errors: unknown): unknown {
  return Array.isArray(errors) ? errors.map((error) => (error as { readonly pointer?: unknown }).pointer) : errors;
}

function commonProblems({ answer, outgoing, secrets }: Answered): readonly string[] {
  const { status, headers, text } = answer;
  const isApi = /^\/(?:rc|app|sync)\/v1\//.test(outgoing.path);
  // The bytes of a file never change.
  const isForEver =
    status === 200 && /\/files\/[0-9a-f]{64}$/.test(outgoing.path) && /^(?:GET|HEAD)$/.test(outgoing.method);
  const isImmutable = headers['cache-control'] === 'private, max-age=31536000, immutable';
  const needed: readonly (readonly [boolean, string])[] = [
    [!REQUEST_ID.accepts(headers['x-request-id'], new Map()), 'the header x-request-id is missing'],
    [isApi && isForEver && !isImmutable, 'Cache-Control of a file is not immutable'],
    [
      (isApi || status >= 400) && !isForEver && headers['cache-control'] !== 'no-store',
      'Cache-Control is not no-store',
    ],
    [status === 401 && headers['www-authenticate'] === undefined, 'WWW-Authenticate is missing'],
    [status === 405 && headers.allow === undefined, 'Allow is missing'],
    [(status === 429 || status === 503) && headers['retry-after'] === undefined, 'Retry-After is missing'],
    [Object.keys(headers).some((name) => name.startsWith('access-control-')), 'there are CORS headers'],
    [secrets.some((secret) => text.includes(secret)), 'the answer contains a secret'],
  ];
  return needed.filter(([isProblem]) => isProblem).map(([, problem]) => problem);
}
