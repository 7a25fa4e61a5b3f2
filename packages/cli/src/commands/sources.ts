import type { SourceChanges, SourceDeclaration } from '@tidemark/backend';
import type { PartitionType } from '@tidemark/protocol';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { confirm } from '../input.ts';

interface SourceOptions {
  readonly pollInterval?: number;
  readonly syncType?: string;
  readonly queue?: string;
  readonly queryQueue?: string;
  readonly cudQueue?: string;
  readonly conflicts?: string;
  readonly readOnly?: string;
  readonly filling?: string;
  readonly reference?: readonly string[];
  readonly pushNotify?: string;
}

interface DeclareOptions extends SourceOptions {
  readonly partitionType?: string;
  readonly adapter?: string;
}

interface SetOptions extends SourceOptions {
  readonly adapter?: string;
  readonly userName?: string;
}

const ADAPTER_HELP = 'none, backend, or the name of a source module';

export function addSources(program: Command, cli: Cli): void {
  const sources = commandGroup(
    program,
    'sources',
    'The kinds of data the server keeps',
    'tidemark sources list',
    'tidemark sources declare Product --partition-type app',
    'tidemark sources set Product --poll-interval 60',
    'tidemark sources drop Product',
  );
  addList(sources, cli);
  sources
    .command('show')
    .description('Show the attributes of a source')
    .addHelpText('before', examples('tidemark sources show Product'))
    .argument('<source>')
    .action(
      cli.remote(async ({ api, print }, source: string, _options: object) =>
        print.record(await api.sources.get(source)),
      ),
    );
  addDeclare(sources, cli);
  addSet(sources, cli);
  addDrop(sources, cli);
}

const PARTITION_TYPES = ['app', 'user', 'group'];

function addList(sources: Command, cli: Cli): void {
  sources
    .command('list')
    .description('List all sources, or the names of those of one partition type')
    .addHelpText('before', examples('tidemark sources list', 'tidemark sources list --type app'))
    .addOption(new Option('--type <type>', 'only those of this partition type').choices(PARTITION_TYPES))
    .action(
      cli.remote(async ({ api, print }, { type }: { readonly type?: PartitionType }) => {
        if (type !== undefined) return print.names(await api.sources.listByType(type));
        const columns = ['name', 'partition_type', 'sync_type', 'poll_interval', 'adapter', 'configured'];
        print.table(await api.sources.list(), columns);
      }),
    );
}

function addDeclare(sources: Command, cli: Cli): void {
  const command = withAttributes(sources.command('declare').description('Declare a source').argument('<source>'))
    .addOption(
      new Option(
        '--partition-type <type>',
        'app: shared by all users; user: apart for each; group: shared by groups',
      ).choices(PARTITION_TYPES),
    )
    .option('--adapter <name>', ADAPTER_HELP)
    .action(
      cli.remote(async ({ api, print }, source: string, options: DeclareOptions) => {
        const { partitionType, adapter } = options;
        const declared = given({ partition_type: partitionType, adapter, ...attributesOf(options) });
        print.record(await api.sources.declare({ ...(declared as Partial<SourceDeclaration>), name: source }));
      }),
    );
  withExamples(
    command,
    'tidemark sources declare Product --partition-type app',
    'tidemark sources declare Order --adapter backend --poll-interval 300 --cud-queue orders',
    'tidemark sources declare Line --reference order_id=Order --conflicts detect',
  );
}

function addSet(sources: Command, cli: Cli): void {
  const command = withAttributes(sources.command('set').description('Change attributes of a source'))
    .argument('<source>')
    .option('--user-name <name>', 'the person who requested the change, for the audit trail')
    .option('--adapter <name>', ADAPTER_HELP)
    .action(
      cli.remote(async ({ api, print }, source: string, options: SetOptions) => {
        const { adapter, userName } = options;
        const changes = given({ adapter, ...attributesOf(options) });
        if (Object.keys(changes).length === 0) throw usageFailure('there is nothing to set');
        print.record(await api.sources.update(source, changes as SourceChanges, given({ userName })));
      }),
    );
  withExamples(
    command,
    'tidemark sources set Product --poll-interval 60',
    'tidemark sources set Product --poll-interval -1 --queue ""',
  );
}

function addDrop(sources: Command, cli: Cli): void {
  sources
    .command('drop')
    .description('Delete a source with all its data')
    .addHelpText('before', examples('tidemark sources drop Product', 'tidemark sources drop Product --yes'))
    .argument('<source>')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, source: string, { yes }: { readonly yes?: boolean }) => {
        const warning = `The source ${source} of ${url} will be deleted with the data of all users.`;
        await confirm(cli, { warning, name: source, isConfirmed: yes === true });
        print.record(await api.sources.drop(source));
      }),
    );
}

function withAttributes(command: Command): Command {
  return command
    .option(
      '--poll-interval <seconds>',
      'seconds between queries of the adapter; -1 never, 0 at every sync',
      wholeNumber,
    )
    .addOption(new Option('--sync-type <type>', 'how devices get the data').choices(['incremental', 'bulk_only']))
    .option('--queue <name>', 'the queue for all jobs; empty for none')
    .option('--query-queue <name>', 'the queue for query jobs; empty for none')
    .option('--cud-queue <name>', 'the queue for create, update and delete jobs; empty for none')
    .addOption(
      new Option('--conflicts <rule>', 'what happens when two devices change one attribute').choices([
        'last_writer',
        'detect',
      ]),
    )
    .addOption(new Option('--read-only <yes>', 'true: devices cannot change the data').choices(['true', 'false']))
    .addOption(new Option('--filling <yes>', 'true: devices get none of the data yet').choices(['true', 'false']))
    .option('--reference <attribute=Source...>', 'an attribute that holds ids of another source; empty for none')
    .addOption(
      new Option('--push-notify <yes>', 'whether a push pings the devices, once or until they have the change').choices(
        [...['true', 'false', 'until_delivered']],
      ),
    );
}

function attributesOf(options: SourceOptions): object {
  return {
    poll_interval: options.pollInterval,
    sync_type: options.syncType,
    queue: queueOf(options.queue),
    query_queue: queueOf(options.queryQueue),
    cud_queue: queueOf(options.cudQueue),
    conflicts: options.conflicts,
    read_only: flagOf(options.readOnly),
    filling: flagOf(options.filling),
    references: referencesOf(options.reference),
    push_notify: options.pushNotify === 'until_delivered' ? options.pushNotify : flagOf(options.pushNotify),
  };
}

function flagOf(text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : text === 'true';
}

/** An empty value removes all references. */
function referencesOf(given: readonly string[] | undefined): Readonly<Record<string, string>> | undefined {
  return given && Object.fromEntries(given.filter((text) => text !== '').map(referenceOf));
}

function referenceOf(text: string): readonly [string, string] {
  const [, attribute, source] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (attribute !== undefined && source !== undefined) return [attribute, source];
  throw usageFailure(`the reference ${JSON.stringify(text)} is not of the form attribute=Source`);
}

/** An empty value removes the queue. */
function queueOf(name: string | undefined): string | null | undefined {
  return name === '' ? null : name;
}

export function wholeNumber(text: string): number {
  if (/^-?[0-9]{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export function addReadState(program: Command, cli: Cli): void {
  const command = program
    .command('read-state')
    .description('Set when a source is refreshed for a user')
    .argument('<source>')
    .argument('<login>')
    .option('--in <seconds>', 'seconds from now; by default at the next sync', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, source: string, login: string, options: { readonly in?: number }) => {
        print.record(await api.sources.refresh(source, login, given({ refreshTimeS: options.in })));
      }),
    );
  withExamples(command, 'tidemark read-state Order ada', 'tidemark read-state Order ada --in 3600');
}
