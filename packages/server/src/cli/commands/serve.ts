import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import type { LoadedConfig } from '../../config/load-config.ts';
import type { ServerLog } from '../../logging/open-log.ts';
import { readVersion } from '../../version.ts';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withConfigFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { storeFailure } from '../local/with-store.ts';

type Running = Awaited<ReturnType<typeof import('../../compose.ts')['compose']>>;

export function addServe(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('Run the server until it is told to stop')
    .action(async (_options: object, self: Command) => serve(cli, configOf(self, cli)));
  withExamples(
    withConfigFlags(command),
    'tidemark serve',
    'tidemark serve --port 8080 --data /var/lib/tidemark',
    'TIDEMARK_ADMIN_PASSWORD_FILE=/run/secrets/admin tidemark serve --host 0.0.0.0 --public-url https://sync.example',
  );
}

/** The same while an app is being written: its folder is the working one, and its sources are loaded as they change. */
export function addDev(program: Command, cli: Cli): void {
  const command = program
    .command('dev')
    .description('Run the server for an app that is being written; its source modules are loaded anew when they change')
    .action(async (_options: object, self: Command) => {
      const loaded = configOf(self, cli);
      const { appFolder } = loaded.config;
      await serve(cli, {
        ...loaded,
        config: { ...loaded.config, appFolder: appFolder ?? cli.folder, isAppWatched: true },
      });
    });
  withExamples(withConfigFlags(command), 'tidemark dev', 'tidemark dev --app ../my-app --port 8080');
}

/** Log and server are only loaded by whoever runs one, so that all other commands start quickly. */
async function serve(cli: Cli, { config, warnings }: LoadedConfig): Promise<void> {
  const { openLog } = await import('../../logging/open-log.ts');
  const log = openLog({ level: config.logLevel, format: config.logFormat, hasColour: cli.terminal.hasColour });
  for (const { setting, detail } of warnings) log.warn('config_warning', { setting, detail });
  const running = await start(config, log);
  const stopped = untilSignal(running);
  tellReady(cli, running);
  await stopped;
}

async function start(config: Config, log: ServerLog): Promise<Running> {
  try {
    const { compose } = await import('../../compose.ts');
    return await compose(config, log);
  } catch (error) {
    throw startFailure(error as NodeJS.ErrnoException, config);
  }
}

function startFailure(error: NodeJS.ErrnoException, { host, port }: Config): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new CliFailure(
        `port ${port} on ${host} is in use; stop the program that has it, or set TIDEMARK_PORT to another`,
      );
    case 'EACCES':
      return new CliFailure(
        `port ${port} on ${host} needs more rights than this process has; set TIDEMARK_PORT to one above 1023`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
      return new CliFailure(`TIDEMARK_HOST ${JSON.stringify(host)} is no address of this machine`);
    default:
      return error.name === 'BadSource' ? new CliFailure(error.message) : (storeFailure(error) as Error);
  }
}

function tellReady({ terminal }: Cli, { url, adminLogin, generatedPassword }: Running): void {
  if (generatedPassword !== null) {
    terminal.out(`The administrator is ${adminLogin}, the password ${generatedPassword} (shown only this once)\n`);
  }
  terminal.out(`Tidemark ${readVersion()} is ready at ${url}\n`);
}

/** A terminal and npm may both deliver the same Ctrl-C; the second changes nothing. */
function untilSignal(running: Running): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const stop = () => {
      if (isStopping) return;
      isStopping = true;
      running.close().then(resolve, reject);
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  });
}
