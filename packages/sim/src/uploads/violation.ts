/** The rules that the simulation of uploads holds the server to; docs/rules.md says what each means. */
export type UploadRule = 'UPSIM-1' | 'UPSIM-2' | 'UPSIM-3' | 'UPSIM-4' | 'UPSIM-5';

/** The server broke a rule. */
export class UploadViolation extends Error {
  override readonly name = 'UploadViolation';
  readonly rule: UploadRule;

  constructor(rule: UploadRule, detail: string) {
    super(`[${rule}] ${detail}`);
    this.rule = rule;
  }
}
