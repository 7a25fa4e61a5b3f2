/** One problem of the configuration. */
export interface SettingProblem {
  /** The setting; null if the problem concerns something else. */
  readonly setting: string | null;
  /** The origin of the value, such as `TIDEMARK_PORT` or `tidemark.config.json`. */
  readonly origin: string;
  /** A sentence without its full stop that names the setting by its origin, and the rule. */
  readonly detail: string;
}

/**
 * The configuration is invalid. All problems are reported at once, so that they need not be found one start at a
 * time.
 */
export class ConfigProblem extends Error {
  override readonly name = 'ConfigProblem';
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    super(messageOf(problems));
    this.problems = problems;
  }
}

function messageOf(problems: readonly SettingProblem[]): string {
  const [first] = problems;
  if (first !== undefined && problems.length === 1) return first.detail;
  const lines = problems.map(({ detail }) => `  ${detail}`);
  return [`the configuration has ${problems.length} problems:`, ...lines].join('\n');
}
