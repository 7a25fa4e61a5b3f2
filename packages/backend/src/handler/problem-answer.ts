import { REASON_UNITS_MAX } from './verdicts.ts';

/** An answer other than success, in the form of Tidemark's own refusals (RFC 9457). */
export const PROBLEMS = {
  invalid_request: { status: 400, title: 'The call does not have the required form' },
  signature_missing: { status: 401, title: 'The call is not signed' },
  signature_invalid: { status: 401, title: 'The signature is wrong' },
  timestamp_out_of_range: { status: 401, title: 'The call was signed too long ago, or in the future' },
  invalid_credentials: { status: 401, title: 'Login or password is wrong' },
  call_not_found: { status: 404, title: 'No such call' },
  method_not_allowed: { status: 405, title: 'Calls are made by POST' },
  conflict: { status: 409, title: 'Somebody else has changed the object' },
  body_too_large: { status: 413, title: 'The call is too large' },
  rejected: { status: 422, title: 'The backend does not accept the change' },
  internal: { status: 500, title: 'Something is wrong in the backend' },
  source_not_handled: { status: 501, title: 'The backend does not know the source, or not this call for it' },
  wrong_answer: { status: 502, title: 'The code of the backend has returned a wrong answer' },
  replayed: { status: 503, title: 'The call was made before' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

const EXTRA_HEADERS: Partial<Record<ProblemCode, Readonly<Record<string, string>>>> = {
  method_not_allowed: { allow: 'POST' },
  replayed: { 'retry-after': '1' },
};

export function problemBody(code: ProblemCode, detail: string): string {
  const { status, title } = PROBLEMS[code];
  return JSON.stringify({
    type: `urn:tidemark:backend-problem:${code}`,
    title,
    status,
    detail: detail.slice(0, REASON_UNITS_MAX).toWellFormed(),
    code,
  });
}

export function problemAnswer(code: ProblemCode, detail: string): Response {
  return new Response(problemBody(code, detail), {
    status: PROBLEMS[code].status,
    headers: { 'content-type': 'application/problem+json', ...EXTRA_HEADERS[code] },
  });
}
