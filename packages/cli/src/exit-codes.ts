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
