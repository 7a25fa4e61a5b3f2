import { resolve } from 'node:path';
import type { Difference, MovableStore, MoveCounts, MoveProgress } from '@tidemark/core';
import type { Config } from '@tidemark/server/config/config';
import { loadConfig } from '@tidemark/server/config/load-config';
import type { Opening } from '@tidemark/server/open-engines';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { processesUsing } from '../local/folder-processes.ts';
import { moveFiles } from '../local/move-files.ts';
import { storeFailure } from '../local/with-store.ts';
import type { Terminal } from '../terminal.ts';

interface MigrateOptions {
  readonly from?: string;
  readonly to?: string;
  readonly fromConfig?: string;
  readonly toConfig?: string;
  readonly fromPrefix?: string;
  readonly toPrefix?: string;
  readonly clean?: boolean;
  readonly stopped?: boolean;
  readonly release?: string;
}

/** One side of a migration. */
interface End {
  readonly config: Config;
  /** Describes the side in messages; it never contains a secret. */
  readonly name: string;
}

type Opened = MovableStore & { others?(): Promise<number | null> };

export function addMigrate(program: Command, cli: Cli): void {
  const command = program
    .command('migrate')
    .description(
      'Move all data to another engine, folder or prefix while no server runs; devices continue without starting over',
    )
    .option('--from <store>', 'a data folder, or an address such as valkey://host:6379')
    .option('--to <store>', 'an empty folder or address')
    .option('--from-config <file>', 'the configuration file of the source, if it needs its own')
    .option('--to-config <file>', 'the configuration file of the target, if it needs its own')
    .option('--from-prefix <text>', 'the key prefix of the source, for Valkey')
    .option('--to-prefix <text>', 'the key prefix of the target, for Valkey')
    .option('--clean', 'empty a target with an unfinished migration, or whose data was moved away')
    .option('--stopped', 'go on if it cannot be checked whether a server still uses the source')
    .option('--release <store>', 'let servers open a source again after an unfinished migration')
    .action(async (options: MigrateOptions, self: Command) => {
      if (options.release === undefined) await migrate(cli, self, options);
      else await release(cli, endOf(cli, options.release, options.fromConfig, options.fromPrefix));
    });
  withExamples(
    command,
    'tidemark migrate --from /var/lib/tidemark --to valkey://10.0.0.5:6379',
    'tidemark migrate --from valkey://10.0.0.5:6379 --to /var/lib/tidemark --clean',
    'tidemark migrate --release /var/lib/tidemark',
  );
}

async function migrate(cli: Cli, command: Command, options: MigrateOptions): Promise<void> {
  if (options.from === undefined || options.to === undefined) throw usageFailure('both --from and --to are needed');
  const isCleaned = options.clean === true;
  const source = endOf(cli, options.from, options.fromConfig, options.fromPrefix);
  const target = endOf(cli, options.to, options.toConfig, options.toPrefix);
  if (source.name === target.name) throw usageFailure(`${source.name} is both source and target`);
  const from = await open(source, { as: 'source', isMovedAllowed: isCleaned });
  try {
    await requireAlone(source, from, options.stopped === true);
    const to = await open(target, { as: 'target', isCleaned });
    try {
      await move(cli, command, { source, target, from, to });
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

interface Both {
  readonly source: End;
  readonly target: End;
  readonly from: Opened;
  readonly to: Opened;
}

async function move(cli: Cli, command: Command, { source, target, from, to }: Both): Promise<void> {
  const { moveStore, writeFilePlace } = await import('@tidemark/core');
  const files = await moveFiles({ from, source: source.config, target: target.config });
  const meter = new MoveMeter(cli.terminal);
  const report = await moveStore({
    from,
    to,
    toName: target.name,
    onProgress: (progress) => meter.show(progress),
  }).catch((error: unknown) => {
    throw storeFailure(error);
  });
  meter.end();
  if (report.status === 'differs') throw differsFailure(target, report.differences, report.isMore);
  if (files?.to !== undefined) await writeFilePlace(to, files.to, Date.now());
  const print = cli.printer(command);
  const counts = Object.fromEntries(report.census);
  if (print.isJson) return print.json({ from: source.name, to: target.name, counts, files: files?.report ?? null });
  print.table(rowsOf(report.census), ['what', 'count']);
  cli.terminal.say(
    `Moved ${source.name} to ${target.name}: every piece was read again on both sides, and is the same.`,
  );
  if (files !== null) cli.terminal.say(files.text);
  cli.terminal.say(`${source.name} is closed to servers; delete it when you no longer need it.`);
}

function rowsOf(census: MoveCounts): readonly object[] {
  return [...census].sort(([left], [right]) => (left < right ? -1 : 1)).map(([what, count]) => ({ what, count }));
}

function differsFailure({ name }: End, differences: readonly Difference[], isMore: boolean): CliFailure {
  const count = `${differences.length}${isMore ? ' or more' : ''}`;
  return new CliFailure(`${name} is not the same as the source in ${count} places, and stays closed to servers`, {
    places: differences.map(({ problem, where, detail }) => `${problem}: ${detail} (${where.slice(1).join(', ')})`),
    hint: 'if a server wrote to the source meanwhile, stop it; then run this again with --clean',
  });
}

async function release(cli: Cli, end: End): Promise<void> {
  const store = await open(end, { as: 'source', isMovedAllowed: false });
  try {
    const migration = await store.migrationState();
    if (migration !== null) await store.setMigrationState(null);
    cli.terminal.say(migration === null ? `${end.name} was not closed.` : `Servers may open ${end.name} again.`);
  } finally {
    await store.close();
  }
}

const ADDRESS = /^[a-z+]+:\/\//;

function endOf(cli: Cli, place: string, file: string | undefined, prefix: string | undefined): End {
  const isAddress = ADDRESS.test(place);
  const flags = new Map<string, string>([
    ['store', isAddress ? place : 'embedded'],
    ...(isAddress ? [] : [['data', resolve(cli.folder, place)] as const]),
    ...(prefix === undefined ? [] : [['valkey.prefix', prefix] as const]),
  ]);
  const { config } = loadConfig({ env: cli.env, folder: cli.folder, flags, ...(file === undefined ? {} : { file }) });
  const name = isAddress ? `${place} (prefix ${config.valkey.prefix})` : config.dataFolder;
  return { config, name };
}

async function open({ config }: End, opening: Opening): Promise<Opened> {
  const { openMovable } = await import('@tidemark/server/open-engines');
  try {
    return await openMovable(config, opening);
  } catch (error) {
    throw storeFailure(error);
  }
}

/** Refuses to migrate while a server runs: its later writes would be lost. */
async function requireAlone({ config, name }: End, store: Opened, isSaidToBeStopped: boolean): Promise<void> {
  const others =
    config.store === 'embedded' ? await occupantCount(config.dataFolder) : ((await store.others?.()) ?? null);
  if (others !== null && others > 0) {
    throw new CliFailure(`a server uses ${name}`, {
      hint: 'stop all servers first: what they write meanwhile would be lost',
    });
  }
  if (others !== null || isSaidToBeStopped) return;
  throw new CliFailure(`it cannot be told whether a server uses ${name}`, {
    hint: 'stop all servers, then add --stopped',
  });
}

async function occupantCount(folder: string): Promise<number | null> {
  return (await processesUsing(folder))?.length ?? null;
}

/** Pause between two lines of progress when the output is not a terminal. */
const EVERY_MS = { terminal: 200, log: 2_000 } as const;

/** Shows the progress of a migration: one changing line on a terminal, otherwise a line now and then. */
export class MoveMeter {
  readonly #terminal: Terminal;
  #last: { readonly phase: string; readonly atMs: number } | null = null;
  #isLineOpen = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show({ phase, pieces, units, piecesTotal }: MoveProgress): void {
    const atMs = performance.now();
    const everyMs = this.#terminal.isInteractive ? EVERY_MS.terminal : EVERY_MS.log;
    if (this.#last?.phase === phase && atMs - this.#last.atMs < everyMs) return;
    this.#last = { phase, atMs };
    const share = piecesTotal === null || piecesTotal === 0 ? '' : `, ${Math.floor((100 * pieces) / piecesTotal)} %`;
    this.#tell(`${phase}: ${pieces} pieces, ${(units / 1e6).toFixed(1)} million characters${share}`);
  }

  end(): void {
    if (this.#isLineOpen) this.#terminal.err('\n');
    this.#isLineOpen = false;
  }

  #tell(line: string): void {
    if (!this.#terminal.isInteractive) {
      this.#terminal.say(line);
      return;
    }
    this.#terminal.err(`\r${line}\u001b[K`);
    this.#isLineOpen = true;
  }
}
