import type { DocumentOwner, SourceDocumentOwner } from '@tidemark/backend';
import type { ObjectFilter } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { readContent, readJsonText } from '../input.ts';
import { addCondition } from '../object-condition.ts';
import { wholeNumber } from './sources.ts';

interface ScopeOptions {
  readonly source?: string;
  readonly user?: string;
  readonly group?: string;
  readonly shared?: boolean;
  readonly client?: string;
}

interface WriteOptions extends ScopeOptions {
  readonly text?: boolean;
}

export function addDocs(program: Command, cli: Cli): void {
  const docs = commandGroup(
    program,
    'docs',
    'Manage documents of the server, of users, of devices, and shared ones',
    'tidemark docs list',
    'tidemark docs get motd',
    'tidemark docs set motd --text motd.txt',
    'tidemark docs list --source Product --shared',
    'tidemark docs get md --source Order --user ada',
  );
  addList(docs, cli);
  addGet(docs, cli);
  addObjects(docs, cli);
  addWrite(docs, cli, 'set', 'Replace the content of a document');
  addWrite(docs, cli, 'append', 'Append to a document');
}

function addList(docs: Command, cli: Cli): void {
  withScope(
    docs
      .command('list')
      .description('List the names of documents')
      .addHelpText(
        'before',
        examples(
          'tidemark docs list',
          'tidemark docs list --source Product --shared',
          'tidemark docs list --source Order --user ada',
        ),
      ),
  ).action(
    cli.remote(async ({ api, print }, options: ScopeOptions) =>
      print.names(await api.documents.names(ownerIn(options))),
    ),
  );
}

function addGet(docs: Command, cli: Cli): void {
  withScope(
    docs
      .command('get')
      .description('Show the content of a document')
      .addHelpText('before', examples('tidemark docs get motd', 'tidemark docs get md --source Order --user ada'))
      .argument('<doc>'),
  ).action(
    cli.remote(async ({ api, print }, doc: string, options: ScopeOptions) => {
      // With --json a text arrives as a JSON string, otherwise unchanged.
      const accept = print.isJson ? 'application/json' : '*/*';
      const { text, isJson } = await api.documents.readText(ownerIn(options), doc, { accept });
      if (isJson) print.jsonText(text);
      else print.text(text);
    }),
  );
}

interface ObjectsOptions extends Pick<ScopeOptions, 'user' | 'group' | 'shared'> {
  readonly source: string;
  readonly after?: string;
  readonly from?: string;
  readonly limit?: number;
  readonly filter?: readonly ObjectFilter[];
  readonly sort?: string;
  readonly desc?: boolean;
}

/** The command has a source, and no option for a device. */
type ObjectsOwner = Exclude<SourceDocumentOwner, { readonly client: string }>;

function addObjects(docs: Command, cli: Cli): void {
  docs
    .command('objects')
    .description('Show a page of the objects of a source, in the order of their last change unless it is sorted')
    .addHelpText(
      'before',
      examples(
        'tidemark docs objects --source Product --shared',
        'tidemark docs objects --source Order --user ada --from 17 --limit 1',
        "tidemark docs objects --source Order --user ada --filter 'total>=10' --filter status=open --sort total --desc",
      ),
    )
    .requiredOption('--source <source>', 'the source')
    .option('--user <login>', 'the objects of this user')
    .option('--group <group>', 'the objects of this group')
    .option('--shared', 'the objects that all users share')
    .option('--after <next>', 'continue after the "next" of the previous page')
    .option('--from <id>', 'begin with this object')
    .option('--limit <objects>', 'how many at most (100)', wholeNumber)
    .option(
      '--filter <condition>',
      'only objects that match, such as total>=10, status!=open, name~part, name^=begin, note (set), !note (not set); @id is the id; may be repeated',
      addCondition,
    )
    .option('--sort <attribute>', 'sort all objects by this attribute, @id or @seq; missing values come last')
    .option('--desc', 'sort downwards')
    .action(
      cli.remote(async ({ api, print }, { after, from, limit, filter, sort, desc, ...scope }: ObjectsOptions) => {
        const wanted = given({ after, from, limit, filter, sort, order: desc ? ('desc' as const) : undefined });
        const { text } = await api.documents.objectsText(ownerIn(scope) as ObjectsOwner, wanted);
        print.jsonText(text);
      }),
    );
}

function addWrite(docs: Command, cli: Cli, name: 'set' | 'append', description: string): void {
  const command = withScope(docs.command(name).description(description).argument('<doc>').argument('[file]'))
    .option('--text', 'the content is plain text; by default it is JSON: a hash of hashes, or a string')
    .action(
      cli.remote(async ({ api, print }, doc: string, file: string | undefined, options: WriteOptions) => {
        const data = options.text ? JSON.stringify(await readContent(cli, file)) : await readJsonText(cli, file);
        print.record(await api.documents.writeText(ownerIn(options), doc, data, { append: name === 'append' }));
      }),
    );
  withExamples(
    command,
    `tidemark docs ${name} motd --text motd.txt`,
    `tidemark docs ${name} prices --source Product --shared prices.json`,
    `echo '{"1":{"name":"Compass"}}' | tidemark docs ${name} md --source Order --user ada`,
  );
}

function withScope(command: Command): Command {
  return command
    .option('--source <source>', 'the source of the document; by default it is a document of the server')
    .option('--user <login>', 'the document of this user')
    .option('--group <group>', 'the document of this group')
    .option('--shared', 'the document that all users share')
    .option('--client <client>', 'the document of this device');
}

/** Returns whose documents are meant. */
function ownerIn({ source, user, group, shared, client }: ScopeOptions): DocumentOwner {
  const owners = [user, group, shared, client].filter((owner) => owner !== undefined);
  if (source === undefined) {
    if (owners.length > 0) throw usageFailure('--user, --group, --shared and --client need a --source');
    return 'server';
  }
  if (owners.length !== 1) throw usageFailure('a --source needs one of --user, --group, --shared and --client');
  if (client !== undefined) return { source, client };
  if (group !== undefined) return { source, group };
  return user === undefined ? { source, shared: true } : { source, user };
}
