import type { Log, LogFields } from '@tidemark/core';
import { destination, type Logger, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { build as prettyStream } from 'pino-pretty';
import type { LogFormat, LogLevel } from '../config/config.ts';
import { maskSecrets } from './mask-secrets.ts';

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Where lines go; the standard error output when absent. */
  readonly stream?: { write(text: string): unknown };
  readonly isTerminal?: boolean;
  readonly hasColour?: boolean;
  /** The worker that writes it, where there are several. */
  readonly worker?: number;
}

/** The log of the server: the port of the core, and what the HTTP edge wants beside it. */
export interface ServerLog extends Log {
  readonly logger: Logger;
}

const STDERR = 2;

/** Lines of JSON, or lines for people. No secret gets through, whoever logs it and wherever in the line it stands. */
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
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (event: string, fields: LogFields = {}): void =>
      logger[level](fields, event);
  return { logger, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function streamOf({ format, stream, isTerminal, hasColour }: LogOptions): { write(text: string): unknown } {
  const isPretty = format === 'pretty' || (format === 'auto' && (isTerminal ?? process.stderr.isTTY === true));
  // Written at once: the last line before a crash is the one that is looked for.
  const out = stream ?? destination({ dest: STDERR, sync: true });
  if (!isPretty) return out;
  return prettyStream({
    destination: out as NodeJS.WritableStream,
    messageKey: 'event',
    colorize: hasColour ?? !process.env.NO_COLOR,
    translateTime: 'SYS:HH:MM:ss.l',
    sync: true,
  });
}

/** Never the headers, and never the query: both are where secrets travel. */
function requestSummary(request: { readonly method?: string; readonly url?: string; readonly ip?: string }): object {
  const [path] = (request.url ?? '').split('?', 1);
  return { method: request.method, path, address: request.ip };
}

function answerSummary(reply: { readonly statusCode?: number }): object {
  return { status: reply.statusCode };
}
