/** One thing that is wrong with the configuration. */
export interface SettingProblem {
  /** The setting, or null when it concerns something that is none. */
  readonly setting: string | null;
  /** Where it was said, such as `TIDEMARK_PORT` or `tidemark.config.json`. */
  readonly origin: string;
  /** A whole sentence without its full stop: names the setting by its origin, and the rule. */
  readonly detail: string;
}

/** The configuration is wrong. All that is wrong with it is told at once, so that nobody mends it one start at a time. */
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
