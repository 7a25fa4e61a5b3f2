/** What is wrong with a mapping file: everything at once. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Collects what is wrong, each with the file and the place in it. */
export class MappingProblems {
  readonly #file: string;
  readonly #found: string[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  add(path: readonly string[], problem: string): void {
    this.#found.push([this.#file, ...(path.length === 0 ? [] : [pathText(path)]), problem].join(': '));
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw new MappingError(this.#found);
  }
}

function pathText(path: readonly string[]): string {
  return path
    .map((step, index) => (/^[a-z]+$/i.test(step) ? `${index === 0 ? '' : '.'}${step}` : `["${step}"]`))
    .join('');
}
