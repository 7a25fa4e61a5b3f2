/** The rules a simulation holds the server to; docs/rules.md says what each means. */
export type Rule = 'SIM-1' | 'SIM-2' | 'SIM-3' | 'SIM-4' | 'SIM-5' | 'SIM-6' | 'SIM-7' | 'SIM-8' | 'SIM-9';

/** The server broke a rule. Everything else that is thrown in a simulation is a bug as well, but of unknown kind. */
export class Violation extends Error {
  override readonly name = 'Violation';
  readonly rule: Rule;

  constructor(rule: Rule, detail: string) {
    super(`[${rule}] ${detail}`);
    this.rule = rule;
  }
}

export function demand(holds: boolean, rule: Rule, detail: () => string): asserts holds {
  if (!holds) throw new Violation(rule, detail());
}
