export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Logs events with fields. Fields never hold secrets or object data. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}
