import { EXIT, type ExitCode } from './exit-codes.ts';

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
