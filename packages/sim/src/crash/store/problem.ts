/** Rules of docs/rules.md that a crash must not break. */
export type CrashRule = 'CRASH-1' | 'CRASH-2' | 'CRASH-3' | 'CRASH-4' | 'CRASH-5' | 'CRASH-6' | 'CRASH-7';

export interface Problem {
  readonly rule: CrashRule;
  readonly detail: string;
}

/** How many details a problem shows. */
const SHOWN_MAX = 5;
const TEXT_UNITS_MAX = 300;

/** Returns one problem with some of its details. */
export function problemAbout(rule: CrashRule, what: string, details: readonly string[]): Problem {
  const shown = details.slice(0, SHOWN_MAX).map((detail) => detail.slice(0, TEXT_UNITS_MAX));
  const rest = details.length > SHOWN_MAX ? [`and ${details.length - SHOWN_MAX} more`] : [];
  return { rule, detail: `${what}: ${[...shown, ...rest].join('; ')}` };
}
