import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { NewUser, UserChanges } from '@tidemark/backend';
import { parseJson } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli, CommandAction } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { attributeOf, confirm, readJsonText, readPassword } from '../input.ts';
import { factsAbout } from './export-user.ts';
import { addListOptions, type ListOptions, readRows } from './listing.ts';
import { wholeNumber } from './sources.ts';
import { printStoredTokens } from './tokens.ts';

interface AttributeOptions {
  readonly attribute?: readonly string[];
  readonly attributes?: string;
}

interface CreateOptions extends AttributeOptions {
  readonly passwordStdin?: boolean;
}

interface SetOptions extends CreateOptions {
  readonly password?: boolean;
  readonly revokeTokens?: boolean;
}

interface UserExportOptions {
  readonly output?: string;
  readonly withGroups?: boolean;
}

export function addUsers(program: Command, cli: Cli): void {
  const users = commandGroup(
    program,
    'users',
    'The people whose devices are kept in step',
    'tidemark users list',
    'tidemark users create ada --attribute team=north',
    'tidemark users set ada --attribute team=south --password',
    'tidemark users invite ada',
    'tidemark users delete ada',
  );
  addList(users, cli);
  addCreate(users, cli);
  users
    .command('show')
    .description('Show a user')
    .addHelpText('before', examples('tidemark users show ada'))
    .argument('<login>')
    .action(cli.remote(show));
  addSet(users, cli);
  addInvite(users, cli);
  addDelete(users, cli);
  addExport(users, cli);
  users
    .command('clients')
    .description('List the ids of the devices of a user')
    .addHelpText('before', examples('tidemark users clients ada'))
    .argument('<login>')
    .action(cli.remote(clients));
}

function addExport(users: Command, cli: Cli): void {
  const command = users
    .command('export')
    .description('Write everything that the server holds about a user, as JSON lines')
    .argument('<login>')
    .option('--output <file>', 'write to this new file, which only you can read, instead of the standard output')
    .option('--with-groups', 'also the objects of the groups of the user, which others share')
    .action(
      cli.remote(async ({ api }, login: string, { output, withGroups = false }: UserExportOptions) => {
        const lines = linesOf(factsAbout(api, login, { hasGroups: withGroups }));
        if (output === undefined) for await (const line of lines) cli.terminal.out(line);
        else await writeLines(resolve(cli.folder, output), lines);
      }),
    );
  withExamples(
    command,
    'tidemark users export ada',
    'tidemark users export ada --output ada.jsonl',
    'tidemark users export ada --with-groups --output ada.jsonl',
  );
}

const show: CommandAction<[string, object]> = async ({ api, print }, login) => {
  print.record(await api.users.get(login));
};

const clients: CommandAction<[string, object]> = async ({ api, print }, login) => {
  print.names(await api.users.clients(login));
};

interface UserListOptions extends ListOptions {
  readonly group?: string;
  readonly after?: string;
  readonly createdDays?: number;
}

function addList(users: Command, cli: Cli): void {
  const command = users
    .command('list')
    .description('List users with their devices, groups, last contact and how far they are behind');
  const texts = 'whose login, groups or attributes contain';
  addListOptions(command, { noun: 'users', texts, whose: 'whose devices' })
    .option('--group <group>', 'only the members of this group')
    .option('--created-days <days>', 'only users who were created in the last so many days', wholeNumber)
    .option('--after <login>', 'only users whose login comes after this one')
    .action(
      cli.remote(async ({ api, print }, options: UserListOptions) => {
        const { limit, after, ...filter } = options;
        const rows = await readRows((page) => api.users.details({ ...given(filter), ...page }), {
          rowsOf: ({ users: found }) => found,
          ...{ limit, after },
        });
        print.table(rows, ['login', 'devices', 'online', 'behind', 'last_seen', 'created_at', 'groups']);
      }),
    );
  withExamples(
    command,
    'tidemark users list',
    'tidemark users list --behind',
    'tidemark users list --group north --json',
    'tidemark users list --limit 100 --after lovelace',
  );
}

function addInvite(users: Command, cli: Cli): void {
  const command = users
    .command('invite')
    .description('Make a code with which a device of a user signs in once, without a password')
    .argument('<login>')
    .option('--expires-in-s <seconds>', 'how long the code counts; a day if absent')
    .action(
      cli.remote(async ({ api, print }, login: string, { expiresInS }: { readonly expiresInS?: string }) => {
        if (expiresInS !== undefined && !/^[0-9]{1,9}$/.test(expiresInS)) {
          throw usageFailure('--expires-in-s must be a whole number of seconds');
        }
        print.record(await api.users.invite(login, expiresInS === undefined ? {} : { expiresInS: Number(expiresInS) }));
      }),
    );
  withExamples(command, 'tidemark users invite ada', 'tidemark users invite ada --expires-in-s 3600');
}

async function* linesOf(facts: AsyncIterable<object>): AsyncGenerator<string> {
  for await (const fact of facts) yield `${JSON.stringify(fact)}\n`;
}

/** Writes a new file, but none before the first line is there: the user may not exist. */
async function writeLines(file: string, lines: AsyncGenerator<string>): Promise<void> {
  const { value: first } = await lines.next();
  const all = async function* () {
    yield String(first);
    yield* lines;
  };
  try {
    await writeFile(file, all(), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw usageFailure(`${file} exists already`);
    throw error;
  }
}

function addCreate(users: Command, cli: Cli): void {
  const command = withAttributes(users.command('create').description('Create a user').argument('<login>'))
    .option('--password-stdin', 'read the password from the standard input')
    .action(
      cli.remote(async ({ api, print }, login: string, options: CreateOptions) => {
        const attributes = await attributesOf(cli, options);
        const question = `Password for the new user ${login}: `;
        const password = await readPassword(cli, {
          question,
          isFromInput: options.passwordStdin === true,
          isNew: true,
        });
        print.record(await api.users.create({ ...attributes, login, password } as NewUser));
      }),
    );
  withExamples(
    command,
    'tidemark users create ada',
    'tidemark users create ada --attribute team=north --attribute level=3',
    'tidemark users create ada --password-stdin < password.txt',
  );
}

function addSet(users: Command, cli: Cli): void {
  const command = withAttributes(users.command('set').description('Set attributes or the password of a user'))
    .argument('<login>')
    .option(
      '--password',
      'ask for a new password; it ends all tokens of the user, but not the named ones of an administrator',
    )
    .option('--password-stdin', 'read the new password from the standard input')
    .option('--revoke-tokens', 'with a new password: also revoke the named tokens of an administrator')
    .action(
      cli.remote(async ({ api, print }, login: string, options: SetOptions) => {
        const attributes = await attributesOf(cli, options);
        const password = await newPassword(cli, login, options);
        const changes = { ...attributes, ...(password === null ? {} : { password }) };
        if (Object.keys(changes).length === 0)
          throw usageFailure('there is nothing to set', 'give --attribute or --password');
        const { revokeTokens } = options;
        const changed = await api.users.update(login, changes as UserChanges, given({ revokeTokens }));
        const { kept_tokens = [], ...user } = changed;
        print.record(print.isJson ? changed : user);
        if (!print.isJson) printStoredTokens(cli, kept_tokens);
      }),
    );
  withExamples(
    command,
    'tidemark users set ada --attribute team=south',
    'tidemark users set ada --attributes ada.json',
    'tidemark users set ada --password',
  );
}

function addDelete(users: Command, cli: Cli): void {
  const command = users
    .command('delete')
    .description('Delete a user with all devices, documents and tokens')
    .argument('<login>')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, login: string, { yes }: { readonly yes?: boolean }) => {
        const warning = `The user ${login} of ${url} will be deleted with all devices, documents and tokens.`;
        await confirm(cli, { warning, name: login, isConfirmed: yes === true });
        print.record(await api.users.delete(login));
      }),
    );
  withExamples(command, 'tidemark users delete ada', 'tidemark users delete ada --yes');
}

function withAttributes(command: Command): Command {
  return command
    .option(
      '--attribute <name=value...>',
      'an attribute; numbers, true, false and null are sent as JSON, anything else as text',
    )
    .option('--attributes <file>', 'a JSON object with attributes; - is the standard input');
}

async function newPassword(cli: Cli, login: string, options: SetOptions): Promise<string | null> {
  if (options.password !== true && options.passwordStdin !== true) return null;
  const question = `New password for ${login}: `;
  return readPassword(cli, { question, isFromInput: options.passwordStdin === true, isNew: true });
}

async function attributesOf(cli: Cli, options: AttributeOptions & CreateOptions): Promise<Record<string, unknown>> {
  const isInputTwice = options.attributes === '-' && options.passwordStdin === true;
  if (isInputTwice) throw usageFailure('the standard input cannot be both the attributes and the password');
  const fromFile = options.attributes === undefined ? {} : parseJson(await readJsonText(cli, options.attributes));
  if (typeof fromFile !== 'object' || fromFile === null || Array.isArray(fromFile)) {
    throw usageFailure('--attributes must hold a JSON object');
  }
  return { ...fromFile, ...Object.fromEntries((options.attribute ?? []).map(attributeOf)) };
}
