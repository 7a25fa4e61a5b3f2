import { resolve } from 'node:path';
import { schemaOfColumns } from '@tidemark/postgres';
import { type JsonValue, parseJson, type SchemaChanges, type SchemaDiff, type SchemaMode } from '@tidemark/protocol';
import { type Command, Option } from 'commander';
import { BREAKING_HINT, given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { readJsonText } from '../input.ts';
import { addressOf, catalogueOf, fitting, MAPPING_FILE, mappingOf, URL_VARIABLE } from '../local/postgres-database.ts';
import type { Printer } from '../printer.ts';
import { wholeNumber } from './sources.ts';

interface ChangeOptions {
  readonly steps?: string;
  readonly mode?: SchemaMode;
  readonly number?: number;
  readonly oldestVersion?: number;
  readonly force?: boolean;
}

const MODES: readonly SchemaMode[] = ['off', 'report', 'enforce'];

export function addSchema(program: Command, cli: Cli): void {
  const schema = commandGroup(
    program,
    'schema',
    'What the attributes of a source must be',
    'tidemark schema infer Order > order.json',
    'tidemark schema set Order order.json',
    'tidemark schema mode Order enforce',
  );
  addShow(schema, cli);
  addSet(schema, cli);
  addDiff(schema, cli);
  addInfer(schema, cli);
  addMode(schema, cli);
  addOldestVersion(schema, cli);
  addReport(schema, cli);
}

function addShow(schema: Command, cli: Cli): void {
  schema
    .command('show')
    .description('Show the schema of a source, its mode and its version')
    .addHelpText('before', examples('tidemark schema show Order', 'tidemark schema show Order --json'))
    .argument('<source>')
    .action(
      cli.remote(async ({ api, print }, source: string, _options: object) => {
        const view = await api.sources.schema(source);
        if (print.isJson) return print.json(view);
        const { schema: shown, steps, ...state } = view;
        print.record(state);
        print.json(shown);
        for (const [index, version] of steps.entries()) {
          if (version.length > 0)
            print.text(`Steps from version ${index + 1} to ${index + 2}: ${JSON.stringify(version)}\n`);
        }
      }),
    );
}

function addSet(schema: Command, cli: Cli): void {
  const command = withSchema(
    schema.command('set').description('Set the schema of a source: another one is a new version'),
  )
    .addOption(new Option('--mode <mode>', 'what becomes of data that does not fit').choices(MODES))
    .option('--number <version>', 'the number of the new version; by default the next one', wholeNumber)
    .option('--oldest-version <number>', 'apps of older versions are refused', wholeNumber)
    .option('--force', 'set it although it breaks apps that are in use')
    .action(
      cli.remote(async ({ api, print }, source: string, file: string | undefined, options: ChangeOptions) => {
        const { mode, number: version, oldestVersion, force } = options;
        const settings = given({ version, mode, oldest_version: oldestVersion, force });
        const view = await api.sources.setSchema(source, { ...(await changesIn(cli, file, options)), ...settings });
        print.record(print.isJson ? view : stateOf(view));
      }),
    );
  withExamples(
    command,
    'tidemark schema set Order order.json',
    'tidemark schema set Order order.json --steps steps.json --mode enforce',
    'tidemark schema set Order order.json --oldest-version 3',
  );
}

function addDiff(schema: Command, cli: Cli): void {
  const command = withSchema(
    schema
      .command('diff')
      .description('Say what another schema would mean for the apps in use, and fail if it breaks them'),
  ).action(
    cli.remote(async ({ api, print }, source: string, file: string | undefined, options: ChangeOptions) => {
      const diff = await api.sources.diffSchema(source, await changesIn(cli, file, options));
      print.record(diff);
      if (diff.kind === 'breaking') throw breaks(diff);
    }),
  );
  withExamples(
    command,
    'tidemark schema diff Order order.json',
    'tidemark schema diff Order order.json --steps steps.json',
  );
}

interface InferOptions {
  readonly samples?: string;
  readonly postgres?: string | true;
  readonly urlEnv: string;
}

function addInfer(schema: Command, cli: Cli): void {
  schema
    .command('infer')
    .description('Propose a schema that fits the objects of a source')
    .addHelpText(
      'before',
      examples(
        'tidemark schema infer Order > order.json',
        'tidemark schema infer Order --samples samples.json',
        'tidemark schema infer Order --postgres tidemark-postgres.jsonc',
      ),
    )
    .argument('<source>')
    .option(
      '--samples <file>',
      'objects to make it from, as id → attributes; by default the stored ones; - for the standard input',
    )
    .option('--postgres [mapping]', `make it from the columns of a database (${MAPPING_FILE})`)
    .option(
      '--url-env <name>',
      'the variable with the address of the database; with _FILE, that of a file with it',
      URL_VARIABLE,
    )
    .action(async (source: string, options: InferOptions, command: Command) => {
      if (options.postgres === undefined) return inferFromObjects(cli)(source, options, command);
      if (options.samples !== undefined) throw usageFailure('say either --samples or --postgres');
      const shown = options.postgres === true ? MAPPING_FILE : options.postgres;
      await inferFromColumns(cli, cli.printer(command), { source, shown, urlEnv: options.urlEnv });
    });
}

function inferFromObjects(cli: Cli) {
  return cli.remote(async ({ api, print }, source: string, { samples }: InferOptions) => {
    const objects = samples === undefined ? undefined : parseJson(await readJsonText(cli, samples));
    const proposal = await api.sources.inferSchema(source, given({ samples: objects as never }));
    if (print.isJson) return print.json(proposal);
    if (proposal.objects === 0) throw nothingToInferFrom(samples ?? source);
    print.json(proposal.schema);
    cli.terminal.say(`Made from ${proposal.objects} objects.`);
    for (const [at, count] of Object.entries(proposal.support)) cli.terminal.say(`${at}: ${count}`);
  });
}

/** A schema of nothing would fit everything, and nobody wants it in a file. */
function nothingToInferFrom(what: string): CliFailure {
  return new CliFailure(`${what} has no objects to make a schema from`, {
    hint: 'push some, name others with --samples, or write the schema by hand',
  });
}

interface MappedSource {
  readonly source: string;
  /** The mapping as the user has named it. */
  readonly shown: string;
  readonly urlEnv: string;
}

async function inferFromColumns(cli: Cli, print: Printer, { source, shown, urlEnv }: MappedSource): Promise<void> {
  const address = addressOf(cli, urlEnv);
  const mapping = mappingOf(resolve(cli.folder, shown), shown);
  const catalogue = await catalogueOf(address);
  const found = fitting(shown, () => schemaOfColumns(source, { mapping, catalogue, file: shown }));
  if (found === null) throw usageFailure(`no table in ${shown} becomes the source ${source}`);
  if (print.isJson) return print.json({ source, ...found });
  print.json(found.schema);
  cli.terminal.say(`Made from the columns of ${found.table}.`);
}

function addMode(schema: Command, cli: Cli): void {
  schema
    .command('mode')
    .description('Set what becomes of data that does not fit the schema of a source')
    .addHelpText('before', examples('tidemark schema mode Order report', 'tidemark schema mode Order enforce'))
    .argument('<source>')
    .argument('<mode>', `one of ${MODES.join(', ')}`)
    .action(
      cli.remote(async ({ api, print }, source: string, mode: string, _options: object) => {
        const wanted = MODES.find((one) => one === mode);
        if (wanted === undefined) throw usageFailure(`the mode must be one of ${MODES.join(', ')}, not ${mode}`);
        const view = await api.sources.setSchema(source, { mode: wanted });
        print.record(print.isJson ? view : stateOf(view));
      }),
    );
}

function addOldestVersion(schema: Command, cli: Cli): void {
  schema
    .command('oldest-version')
    .description('Set the oldest version that apps may have which use a source')
    .addHelpText('before', examples('tidemark schema oldest-version Order 2'))
    .argument('<source>')
    .argument('<version>', 'apps of older versions are refused', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, source: string, oldest: number, _options: object) => {
        const view = await api.sources.setSchema(source, { oldest_version: oldest });
        print.record(print.isJson ? view : stateOf(view));
      }),
    );
}

function addReport(schema: Command, cli: Cli): void {
  schema
    .command('report')
    .description('Show what the schema of a source would have refused')
    .addHelpText('before', examples('tidemark schema report Order'))
    .argument('<source>')
    .action(
      cli.remote(async ({ api, print }, source: string, _options: object) => {
        const report = await api.sources.schemaReport(source);
        if (print.isJson) return print.json(report);
        const { samples, ...summary } = report;
        print.record(summary);
        print.table(samples, ['object', 'attribute', 'detail', 'at']);
      }),
    );
}

function withSchema(command: Command): Command {
  return command
    .argument('<source>')
    .argument('[file]', 'the schema, as JSON; by default or with - the standard input')
    .option('--steps <file>', 'the steps from the present version to this one, as a JSON list');
}

async function changesIn(cli: Cli, file: string | undefined, { steps }: ChangeOptions): Promise<SchemaChanges> {
  const schema = parseJson(await readJsonText(cli, file)) as JsonValue;
  const list = steps === undefined ? undefined : parseJson(await readJsonText(cli, steps));
  return { schema, ...given({ steps: list }) } as unknown as SchemaChanges;
}

function stateOf(view: Awaited<ReturnType<Session['api']['sources']['schema']>>): object {
  const { schema: _schema, steps: _steps, ...state } = view;
  return state;
}

function breaks({ source, reasons }: SchemaDiff): CliFailure {
  return new CliFailure(`the schema breaks apps that use ${source}`, {
    places: reasons,
    hint: BREAKING_HINT,
  });
}
