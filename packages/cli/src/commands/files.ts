import { createHash } from 'node:crypto';
import { createReadStream, type ReadStream } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { TidemarkClient } from '@tidemark/backend';
import type { FileCheck, FileUse, ListedFile } from '@tidemark/protocol';
import type { Command } from 'commander';
import { allOf, given } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
import { counted } from '../counted.ts';
import { commandGroup, examples } from '../examples.ts';
import { mediaTypeOf } from '../media-type.ts';
import { writeDownload } from './backups.ts';
import { addAdopt } from './files-adopt.ts';
import { readRows } from './listing.ts';
import { wholeNumber } from './sources.ts';

const SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
const HASH_NOTE = 'the SHA-256 of the file, as the reference and the list have it';
/** The server names so many objects of a partition. */
const USES_PER_PARTITION_MAX = 1_000;
/** A file takes as long as the network needs. */
const TRANSFER_TIMEOUT_MS = 1_800_000;

export function addFiles(program: Command, cli: Cli): void {
  const files = commandGroup(
    program,
    'files',
    'The bytes of files that objects refer to',
    'tidemark files put bow.jpg',
    `tidemark files get ${SHA256} --output bow.jpg`,
    'tidemark files list --missing',
  );
  addPut(files, cli);
  addGet(files, cli);
  addList(files, cli);
  addWhere(files, cli);
  addVerify(files, cli);
  addAdopt(files, cli);
}

interface PutOptions {
  readonly type?: string;
  readonly name?: string;
}

function addPut(files: Command, cli: Cli): void {
  files
    .command('put')
    .description('Store a file, and print the reference that an attribute needs')
    .addHelpText(
      'before',
      examples('tidemark files put bow.jpg', 'tidemark files put scan.bin --type image/tiff --name scan.tiff'),
    )
    .argument('<file>')
    .option('--type <type>', 'the media type; by default that of the name')
    .option('--name <name>', 'what people call the file; by default its name')
    .action(
      cli.remote(async ({ api, print }, file: string, { type, name = basename(file) }: PutOptions) => {
        const path = resolve(cli.folder, file);
        const sha256 = await hashOf(path, file);
        const media = type ?? mediaTypeOf(file);
        print.json(await api.files.put(sha256, opened(path), { ...given({ type: media }), name }));
      }),
    );
}

function opened(path: string): ReadStream {
  return createReadStream(path, { highWaterMark: 262_144 });
}

async function hashOf(path: string, file: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of opened(path)) hash.update(chunk as Buffer);
  } catch (error) {
    throw usageFailure(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
  return hash.digest('hex');
}

function addGet(files: Command, cli: Cli): void {
  files
    .command('get')
    .description('Download a file, and check its bytes')
    .addHelpText('before', examples(`tidemark files get ${SHA256} --output bow.jpg`))
    .argument('<sha256>', HASH_NOTE)
    .requiredOption('--output <file>', 'the file to write; it must not exist')
    .action(
      cli.remote(async ({ api, print }, sha256: string, { output }: { readonly output: string }) => {
        const file = resolve(cli.folder, output);
        const bytes = await api.files.download(sha256, { timeoutMs: TRANSFER_TIMEOUT_MS });
        await writeDownload(file, checked(bytes, sha256));
        if (print.isJson) return print.json({ sha256, file });
        cli.terminal.out(`${file}\n`);
      }),
    );
}

/** Passes bytes on, and fails at their end when they have another hash. */
async function* checked(bytes: AsyncIterable<Uint8Array>, sha256: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') !== sha256) throw new CliFailure(`the bytes of ${sha256} are damaged; nothing was written`);
}

const MISSING_COLUMNS = ['sha256', 'size', 'type', 'name', 'missing_since', 'devices', 'references'];

/** Names the devices that have the bytes of a missing file in one cell. */
function missingRow(file: ListedFile) {
  const devices = file.devices.map(({ user_id, client_id }) => `${user_id} on ${client_id}`).join(', ');
  return { ...file, devices };
}

interface ListOptions {
  readonly source?: string;
  readonly user?: string;
  readonly missing?: boolean;
  readonly limit?: number;
}

function addList(files: Command, cli: Cli): void {
  files
    .command('list')
    .description('List files: all of them, those of a source or user, or those that have not arrived')
    .addHelpText(
      'before',
      examples(
        'tidemark files list',
        'tidemark files list --source Inspection',
        'tidemark files list --missing --json',
      ),
    )
    .option('--source <source>', 'only files that objects of this source refer to')
    .option('--user <login>', 'only files that the data of this user refers to')
    .option('--missing', 'only files whose bytes have not arrived')
    .option('--limit <number>', 'at most so many; 1000 by default', wholeNumber)
    .action(
      cli.remote(async ({ api, print }, { source, user, missing, limit }: ListOptions) => {
        const filter = given({ source, user, state: missing === true ? ('missing' as const) : undefined });
        const list = (page: object) => api.files.list({ ...filter, ...page });
        const rows = await readRows(list, { rowsOf: (page) => page.files, limit });
        if (missing === true && rows.length === 0 && !print.isJson) cli.terminal.say('No file is missing.');
        else if (missing === true && !print.isJson) print.table(rows.map(missingRow), MISSING_COLUMNS);
        else print.table(rows, ['sha256', 'size', 'type', 'name', 'is_stored', 'stored_at', 'references']);
      }),
    );
}

function addWhere(files: Command, cli: Cli): void {
  files
    .command('where')
    .description('List the objects that refer to a file')
    .addHelpText('before', examples(`tidemark files where ${SHA256}`))
    .argument('<sha256>', HASH_NOTE)
    .action(
      cli.remote(async ({ api, print }, sha256: string, _options: object) => {
        const uses = await allOf(api.files.everyUse(sha256));
        print.table(uses, ['source', 'user', 'group', 'object_id']);
        const cut = cutPartition(uses);
        if (cut !== null)
          cli.terminal.say(`Only ${USES_PER_PARTITION_MAX} objects of ${cut} are listed; there may be more.`);
      }),
    );
}

/** Returns whose objects are not all listed, in words. Null: all are. */
export function cutPartition(uses: readonly FileUse[]): string | null {
  const counts = new Map<string, number>();
  for (const { source, user, group } of uses) {
    const whose = user ?? (group === null ? null : `the group ${group}`);
    const name = whose === null ? source : `${source} of ${whose}`;
    const count = (counts.get(name) ?? 0) + 1;
    if (count === USES_PER_PARTITION_MAX) return name;
    counts.set(name, count);
  }
  return null;
}

function addVerify(files: Command, cli: Cli): void {
  files
    .command('verify')
    .description('Let the server read files again, and name those that are damaged or gone')
    .addHelpText('before', examples('tidemark files verify', `tidemark files verify ${SHA256}`))
    .argument('[sha256...]', 'the files; all that are stored by default')
    .action(
      cli.remote(async ({ api, print }, named: readonly string[], _options: object) => {
        await verify({ api, print }, cli, named);
      }),
    );
}

async function verify(
  { api, print }: Pick<Session, 'api' | 'print'>,
  cli: Cli,
  named: readonly string[],
): Promise<void> {
  const wrong: FileCheck[] = [];
  let count = 0;
  for await (const sha256 of named.length > 0 ? named : storedFiles(api)) {
    count++;
    const check = await api.files.verify(sha256, { timeoutMs: TRANSFER_TIMEOUT_MS });
    if (!check.is_intact) wrong.push(check);
  }
  if (print.isJson) print.json({ files: count, wrong });
  else print.table(wrong, ['sha256', 'size', 'problem']);
  if (wrong.length > 0)
    throw new CliFailure(`${wrong.length} of ${counted(count, 'file')} ${isOrAre(wrong.length)} damaged or gone`);
  if (!print.isJson) cli.terminal.say(`${counted(count, 'file')} ${isOrAre(count)} intact.`);
}

function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

async function* storedFiles(api: TidemarkClient): AsyncGenerator<string> {
  for await (const { sha256, is_stored } of api.files.every()) if (is_stored) yield sha256;
}
