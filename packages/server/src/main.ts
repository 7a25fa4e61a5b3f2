import type { Log, LogFields } from '@tidemark/core';
import { compose, type Running } from './compose.ts';
import type { Config } from './config/config.ts';
import { ConfigProblem } from './config/config-problem.ts';
import { readConfig } from './config/read-config.ts';
import { readVersion } from './version.ts';

const jsonLog: Log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map((level) => [
    level,
    (event: string, fields: LogFields = {}) => process.stderr.write(`${JSON.stringify({ level, event, ...fields })}\n`),
  ]),
) as unknown as Log;

const EXIT_FAILED = 1;
/** EX_CONFIG of sysexits.h: no restart will help until someone changes the configuration. */
const EXIT_CONFIG = 78;

function fail(message: string, exitCode: number): never {
  process.stderr.write(`tidemark: ${message}\n`);
  process.exit(exitCode);
}

function configOrExit(): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (error instanceof ConfigProblem) fail(error.message, EXIT_CONFIG);
    throw error;
  }
}

async function composeOrExit(config: Config): Promise<Running> {
  try {
    return await compose(config, jsonLog);
  } catch (error) {
    fail(listenProblem(error as NodeJS.ErrnoException, config), EXIT_FAILED);
  }
}

function listenProblem(error: NodeJS.ErrnoException, { host, port }: Config): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${host} is in use; stop the program that has it, or set TIDEMARK_PORT to another`;
    case 'EACCES':
      return `port ${port} on ${host} needs more rights than this process has; set TIDEMARK_PORT to one above 1023`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
      return `TIDEMARK_HOST ${JSON.stringify(host)} is no address of this machine`;
    default:
      return `the server did not start: ${error.stack ?? error.message}`;
  }
}

const running = await composeOrExit(configOrExit());
let isStopping = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // A terminal and npm may both deliver the same Ctrl-C; the second changes nothing.
  process.on(signal, async () => {
    if (isStopping) return;
    isStopping = true;
    await running.close();
    process.exit(0);
  });
}
if (running.generatedPassword !== null) {
  const { adminLogin, generatedPassword } = running;
  process.stdout.write(
    `The administrator is ${adminLogin}, the password ${generatedPassword} (shown only this once)\n`,
  );
}
process.stdout.write(`Tidemark ${readVersion()} is ready at ${running.url}\n`);
