/** Rules of docs/rules.md that simulations check. */
export type SyncRule =
  | 'SIM-1'
  | 'SIM-2'
  | 'SIM-3'
  | 'SIM-4'
  | 'SIM-5'
  | 'SIM-6'
  | 'SIM-7'
  | 'SIM-8'
  | 'SIM-9'
  | 'SIM-13';
export type UploadRule = 'UPSIM-1' | 'UPSIM-2' | 'UPSIM-3' | 'UPSIM-4' | 'UPSIM-5';
export type GroupRule = 'GROUP-23' | 'SIM-14' | 'SIM-15' | 'SIM-16' | 'SIM-17';
export type SdkRule = 'SIM-18' | 'SIM-19' | 'SIM-20' | 'SIM-21' | 'SIM-22' | 'SIM-23';
export type PostgresRule = 'PGSIM-1' | 'PGSIM-2' | 'PGSIM-3' | 'PGSIM-4' | 'PGSIM-5' | 'PGSIM-6' | 'PGSIM-7';
export type FileRule = 'FILESIM-1' | 'FILESIM-2' | 'FILESIM-3' | 'FILESIM-4' | 'FILESIM-5';
export type Rule = SyncRule | UploadRule | GroupRule | SdkRule | PostgresRule | FileRule;

/** The server broke a rule. Any other error in a simulation is a bug as well, but of unknown kind. */
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
