/** What is wrong with a mapping file: everything at once. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** Something that is wrong, with the file and the place in it. */
export interface MappingProblem {
  readonly message: string;
  /** The statements that make the database fit; empty: the mapping has to be changed. */
  readonly sql: readonly string[];
}

/** Collects what is wrong. */
export class MappingProblems {
  readonly #file: string;
  readonly #found: MappingProblem[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  get found(): readonly MappingProblem[] {
    return this.#found;
  }

  add(path: readonly string[], problem: string, sql: readonly string[] = []): void {
    const message = [this.#file, ...(path.length === 0 ? [] : [pathText(path)]), problem].join(': ');
    this.#found.push({ message, sql });
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw new MappingError(this.#found.map(({ message }) => message));
  }
}

function pathText(path: readonly string[]): string {
  return path
    .map((step, index) => (/^[a-z]+$/i.test(step) ? `${index === 0 ? '' : '.'}${step}` : `["${step}"]`))
    .join('');
}
