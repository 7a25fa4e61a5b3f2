import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import type { LoadedConfig } from '@tidemark/server/config/load-config';
import type { ServerLog } from '@tidemark/server/open-log';
import { readVersion } from '@tidemark/server/version';
import type { WorkerChannel } from '@tidemark/server/workers/worker-channel';
import type { StartFailure, WorkerReady } from '@tidemark/server/workers/worker-message';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure, type ExitCode, usageFailure } from '../cli-failure.ts';
import { configOf, withConfigFlags } from '../config-flags.ts';
import { endWithParent } from '../end-with-parent.ts';
import { withExamples } from '../examples.ts';
import { permissionFailure } from '../local/ownership.ts';
import { storeFailure } from '../local/with-store.ts';
import { keepTypes } from '../types/keep-types.ts';

/** What each worker process runs: this very program. */
const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));

type Running = Awaited<ReturnType<typeof import('@tidemark/server')['compose']>>;

export function addServe(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('Run the server')
    .action(async (_options: object, self: Command) =>
      serve(cli, () => configOf(self, cli, { readsConnectors: true })),
    );
  withExamples(
    withConfigFlags(command),
    'tidemark serve',
    'tidemark serve --port 8080 --data /var/lib/tidemark',
    'tidemark serve --workers 4',
    'TIDEMARK_ADMIN_PASSWORD_FILE=/run/secrets/admin tidemark serve --host 0.0.0.0 --public-url https://sync.example',
  );
}

/** Adds `dev`: `serve` for the app in the working folder, reloading its source modules when they change. */
export function addDev(program: Command, cli: Cli): void {
  const command = program
    .command('dev')
    .description('Run the server for development; it reloads source modules when they change')
    .option('--types <file>', 'write the types of all sources into this file, again whenever a schema changes')
    .action(async ({ types }: { readonly types?: string }, self: Command) => {
      endWithParent(() => process.kill(process.pid, 'SIGTERM'));
      const load = () => {
        const loaded = configOf(self, cli, { readsConnectors: true });
        const { appFolder } = loaded.config;
        return { ...loaded, config: { ...loaded.config, appFolder: appFolder ?? cli.folder, isAppWatched: true } };
      };
      if (types === undefined) return serve(cli, load);
      if (load().config.workers > 1) throw usageFailure('--types works with one process: leave out --workers');
      const file = resolve(cli.folder, types);
      const say = (line: string) => cli.terminal.say(line);
      await serve(cli, load, ({ describeSources }) => keepTypes({ file, shown: types, read: describeSources, say }));
    });
  withExamples(
    withConfigFlags(command),
    'tidemark dev',
    'tidemark dev --app ../my-app --port 8080',
    'tidemark dev --types src/tidemark.ts',
  );
}

/**
 * Loads log and server on demand, so that other commands start quickly. `accompany` begins work beside the server, and returns what ends
 * it.
 */
async function serve(
  cli: Cli,
  load: () => LoadedConfig,
  accompany: (running: Running) => () => void = () => () => undefined,
): Promise<void> {
  const loaded = load();
  const { default: cluster } = await import('node:cluster');
  if (cluster.worker !== undefined) return serveAsWorker(cli, load, cluster.worker.id);
  const { config } = loaded;
  const log = await openServerLog(cli, config);
  for (const { setting, detail } of loaded.warnings) log.warn('config_warning', { setting, detail });
  endWithChannel();
  if (config.workers > 1) return superviseWorkers(cli, config, log);
  const reload = await reloadOnHangUp(loaded, load, log);
  const running = await start(config, log);
  reload.apply(running);
  const end = accompany(running);
  const close = () => {
    end();
    return running.close();
  };
  const stopped = untilSignal({ close }, log);
  tellReady(cli, running);
  await stopped;
}

async function superviseWorkers(cli: Cli, config: Config, log: ServerLog): Promise<void> {
  const { runWorkers } = await import('@tidemark/server/workers/run-workers');
  const { workers: count, shutdownGraceMs, shutdownDrainMs } = config;
  const args = process.argv.slice(2);
  try {
    const onReady = (ready: WorkerReady) => tellReady(cli, ready);
    await runWorkers({ count, main: MAIN, args, shutdownGraceMs, shutdownDrainMs, log, onReady });
  } catch (error) {
    if (!(error instanceof Error) || !('failure' in error)) throw new CliFailure((error as Error).message);
    const { message, hint, exitCode } = error.failure as StartFailure;
    throw new CliFailure(message, { exitCode: exitCode as ExitCode, ...(hint === null ? {} : { hint }) });
  }
}

/** Serves as one of several workers; the parent process prints the messages. */
async function serveAsWorker(cli: Cli, load: () => LoadedConfig, worker: number): Promise<void> {
  const loaded = load();
  const { config } = loaded;
  const { channelOf, WorkerChannel } = await import('@tidemark/server/workers/worker-channel');
  const log = await openServerLog(cli, config, worker);
  const channel = new WorkerChannel(channelOf(process));
  const reload = await reloadOnHangUp(loaded, load, log);
  try {
    const running = await start(config, log, channel);
    reload.apply(running);
    const stopped = untilSignal(running, log);
    channel.ready(running);
    await stopped;
  } catch (error) {
    await channel.failed(startFailureOf(error));
  } finally {
    process.disconnect?.();
  }
}

function startFailureOf(error: unknown): StartFailure {
  const failure = error instanceof CliFailure ? error : new CliFailure(String((error as Error)?.stack ?? error));
  return { message: failure.message, hint: failure.particulars.hint ?? null, exitCode: failure.exitCode };
}

async function openServerLog({ terminal }: Cli, config: Config, worker?: number): Promise<ServerLog> {
  const { openLog } = await import('@tidemark/server/open-log');
  const { logLevel: level, logFormat: format } = config;
  return openLog({ level, format, hasColour: terminal.hasColour, ...(worker === undefined ? {} : { worker }) });
}

async function start(config: Config, log: ServerLog, channel: WorkerChannel | null = null): Promise<Running> {
  try {
    const { compose } = await import('@tidemark/server');
    return await compose(config, log, { channel });
  } catch (error) {
    throw startFailure(error as NodeJS.ErrnoException, config);
  }
}

function startFailure(error: NodeJS.ErrnoException, { host, port, dataFolder }: Config): Error {
  const denied = permissionFailure(error, dataFolder);
  if (denied !== null) return denied;
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

function tellReady({ terminal }: Cli, ready: WorkerReady): void {
  const { url, adminLogin, generatedPassword, isAdminPasswordIgnored } = ready;
  if (isAdminPasswordIgnored) {
    terminal.say(
      `warning: TIDEMARK_ADMIN_PASSWORD is not the password of the administrator ${adminLogin}: it only counts at the first start. ` +
        'Set the password with tidemark admin reset-password, or take the setting away.',
    );
  }
  if (generatedPassword !== null) {
    terminal.out(`The administrator is ${adminLogin}, the password ${generatedPassword} (shown only this once)\n`);
  }
  terminal.out(`Tidemark ${readVersion()} is ready at ${url}\n`);
  terminal.out(`The console is at ${url}/console/ (log in as ${adminLogin})\n`);
}

/** Handles SIGHUP, which ends a process by default, by reloading the configuration. */
async function reloadOnHangUp(
  loaded: LoadedConfig,
  load: () => LoadedConfig,
  log: ServerLog,
): Promise<{ readonly apply: (running: Running) => void }> {
  const { reloadConfig } = await import('@tidemark/server/config/reload-config');
  let current = loaded;
  let running: Running | null = null;
  process.on('SIGHUP', () => {
    current = reloadConfig(current, load, log, (connectors) => {
      running?.configureConnectors(connectors).catch((error: unknown) => {
        log.error('connectors_not_reloaded', { detail: errorMessage(error) });
      });
    });
  });
  return {
    apply: (started) => {
      running = started;
    },
  };
}

/** A program that starts the server with an IPC channel may be killed without a word; the server then ends as well. */
function endWithChannel(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  // Otherwise the listener would keep the process alive after the server has closed.
  process.channel?.unref();
}

/** Ignores a second signal: a terminal and npm may both deliver the same Ctrl-C. */
function untilSignal(running: Pick<Running, 'close'>, log: ServerLog): Promise<void> {
  return new Promise((resolve, reject) => {
    let isStopping = false;
    const stop = (signal: NodeJS.Signals) => {
      if (isStopping) return;
      isStopping = true;
      log.info('server_stopping', { signal });
      running.close().then(() => {
        log.info('server_stopped');
        resolve();
      }, reject);
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  });
}
