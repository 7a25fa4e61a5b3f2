import type { Log, LogFields } from '@tidemark/core';
import { destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import type { LogFormat, LogLevel } from '../config/config.ts';
import { maskSecrets } from './mask-secrets.ts';
import { prettyLine } from './pretty-line.ts';
import { RequestLog } from './request-log.ts';
import { StoreOutage } from './store-outage.ts';

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** The output; standard error if absent. */
  readonly stream?: { write(text: string): unknown };
  readonly isTerminal?: boolean;
  readonly hasColour?: boolean;
  /** The number of the worker, if there are several. */
  readonly worker?: number;
}

/** The log of the server: the port of the core, and the logger for HTTP. */
export interface ServerLog extends Log {
  readonly logger: Logger;
  readonly requests: Pick<RequestLog, 'configure' | 'ended'>;
  readonly outage: Pick<StoreOutage, 'begin' | 'end'>;
}

const STDERR = 2;

/** Writes lines of JSON, or lines for people. Secrets are masked wherever they occur in a line. */
export function openLog(options: LogOptions): ServerLog {
  const logger = pino(
    {
      level: options.level,
      base: options.worker === undefined ? null : { worker: options.worker },
      messageKey: 'event',
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: stdSerializers.err, req: requestSummary, res: answerSummary },
      hooks: { streamWrite: maskSecrets },
    },
    streamOf(options),
  );
  const outage = new StoreOutage(logger);
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}): void => {
      if (!outage.explains(fields.reason)) logger[level](fields, event);
    };
  return {
    logger,
    outage,
    requests: new RequestLog(logger, outage),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

function streamOf({ format, stream, isTerminal, hasColour }: LogOptions): { write(text: string): unknown } {
  const isPretty = format === 'pretty' || (format === 'auto' && (isTerminal ?? process.stderr.isTTY === true));
  // Synchronous, so that the last line before a crash is not lost.
  const out = stream ?? destination({ dest: STDERR, sync: true });
  if (!isPretty) return out;
  const isColoured = hasColour ?? !process.env.NO_COLOR;
  return { write: (line) => out.write(prettyLine(line, isColoured)) };
}

/** Omits headers and query, which may hold secrets. */
function requestSummary(request: { readonly method?: string; readonly url?: string; readonly ip?: string }): object {
  const [path] = (request.url ?? '').split('?', 1);
  return { method: request.method, path, address: request.ip };
}

function answerSummary(reply: { readonly statusCode?: number }): object {
  return { status: reply.statusCode };
}
