/** Something that a person should know or mend before a database is connected. */
export interface Finding {
  /** A stable name for programs, such as `wal_level`. */
  readonly code: string;
  /** `error`: the connector cannot work, or would lose changes. `warning`: it works, and it is risky. `notice`: good to know. */
  readonly level: 'error' | 'warning' | 'notice';
  /** What is so, and what follows from it. */
  readonly message: string;
  /** The statements that mend it, in order; whoever may do so runs them. */
  readonly sql: readonly string[];
}
