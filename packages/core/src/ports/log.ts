export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** Events with fields, never sentences with values in them; never a secret and never object data. */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}
