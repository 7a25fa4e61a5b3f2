/** Exit codes for scripts. Those above 2 are from sysexits.h. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** EX_UNAVAILABLE: no server answers, or it cannot serve now. */
  unavailable: 69,
  /** EX_NOPERM: there is no token, or its scopes do not suffice. */
  notAllowed: 77,
  /** EX_CONFIG: no restart will help until someone changes the configuration. */
  config: 78,
  /** 128 + SIGINT: the user pressed Ctrl-C at a prompt. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface FailureParticulars {
  readonly exitCode?: ExitCode;
  /** What to try. */
  readonly hint?: string;
  /** The id under which the server logged the call. */
  readonly requestId?: string;
  /** The stable code of a refusal. */
  readonly code?: string;
  /** The invalid parts of the request, one line each. */
  readonly places?: readonly string[];
}

/** A command failed. The message is a sentence for people. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly exitCode: ExitCode;
  readonly particulars: FailureParticulars;

  constructor(message: string, particulars: FailureParticulars = {}) {
    super(message);
    this.exitCode = particulars.exitCode ?? EXIT.failed;
    this.particulars = particulars;
  }

  /** The lines to print. */
  lines(): readonly string[] {
    const { hint, requestId, code, places = [] } = this.particulars;
    return [
      `tidemark: ${this.message}${code === undefined ? '' : ` (${code})`}`,
      ...places.map((place) => `  ${place}`),
      ...(hint === undefined ? [] : [`  hint: ${hint}`]),
      ...(requestId === undefined ? [] : [`  request: ${requestId}`]),
    ];
  }

  toJSON(): object {
    const { hint, requestId, code, places } = this.particulars;
    return { error: { message: this.message, code, hint, request_id: requestId, places, exit_code: this.exitCode } };
  }
}

export function usageFailure(message: string, hint?: string): CliFailure {
  return new CliFailure(message, { exitCode: EXIT.usage, ...(hint === undefined ? {} : { hint }) });
}
