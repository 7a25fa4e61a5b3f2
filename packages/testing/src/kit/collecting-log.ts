import type { Log, LogFields } from '@tidemark/core';

export interface LogLine {
  readonly level: keyof Log;
  readonly event: string;
  readonly fields: LogFields;
}

export interface CollectingLog extends Log {
  /** Everything logged so far, in order. */
  readonly lines: readonly LogLine[];
}

/** Returns a log that keeps its lines for assertions. */
export function collectingLog(): CollectingLog {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Log) =>
    (event: string, fields: LogFields = {}): void => {
      lines.push({ level, event, fields });
    };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
