/** What a script can tell from the exit code; those above 2 are of sysexits.h. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** EX_UNAVAILABLE: no server answers, or it cannot serve now. */
  unavailable: 69,
  /** EX_NOPERM: no token, or one that does not suffice. */
  notAllowed: 77,
  /** EX_CONFIG: no restart will help until someone changes the configuration. */
  config: 78,
  /** 128 + SIGINT: somebody pressed Ctrl-C at a question. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
