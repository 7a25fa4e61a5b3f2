import type { TokenRequest } from '@tidemark/backend';
import type { Command } from 'commander';
import { allOf, given } from '../api-client.ts';
import type { Cli, CommandAction } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { confirm } from '../input.ts';

interface CreateOptions {
  readonly name: string;
  /** The server checks the names. */
  readonly scope: TokenRequest['scopes'];
  readonly user?: string;
  readonly expires?: string;
}

interface TokenListOptions {
  readonly user?: string;
  readonly named?: boolean;
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export function addTokens(program: Command, cli: Cli): void {
  const tokens = commandGroup(
    program,
    'tokens',
    'The tokens that programs prove themselves by',
    'tidemark tokens list',
    'tidemark tokens create --name backend --scope push --expires 90d',
    'tidemark tokens revoke 0a1b2c3d4e5f6071',
  );
  tokens
    .command('list')
    .description('List all tokens, without their secrets')
    .addHelpText('before', examples('tidemark tokens list --named', 'tidemark tokens list --user ada --json'))
    .option('--user <login>', 'only the tokens of this user')
    .option('--named', 'only tokens that were made with a name, and no sessions of logins')
    .action(cli.remote(list));
  addCreate(tokens, cli);
  addRevoke(tokens, cli);
}

const list: CommandAction<[TokenListOptions]> = async ({ api, print }, { user, named }) => {
  const all = await allOf(api.tokens.every());
  const wanted = all.filter((token) => {
    return (user === undefined || token.user === user) && (named !== true || (token.name ?? null) !== null);
  });
  print.table(wanted, ['id', 'user', 'name', 'scopes', 'client', 'created_at', 'expires_at']);
};

function addCreate(tokens: Command, cli: Cli): void {
  const command = tokens
    .command('create')
    .description('Create a token; it is printed once, to the standard output')
    .requiredOption('--name <name>', 'the purpose of the token')
    .requiredOption('--scope <scope...>', 'admin, admin:reset, read, push or device')
    .option('--user <login>', 'the owner of the token; by default you')
    .option('--expires <when>', 'a duration (30m, 12h, 90d) or a time; by default the token does not expire')
    .action(
      cli.remote(async ({ api, print }, { name, scope, user, expires }: CreateOptions) => {
        const more = given({ user, expires_at: expires === undefined ? undefined : momentOf(expires) });
        const issued = await api.tokens.create({ name, scopes: scope, ...more });
        if (print.isJson) return print.json(issued);
        cli.terminal.say(`The token ${issued.id} of ${issued.user} is shown only once:`);
        cli.terminal.out(`${issued.token}\n`);
      }),
    );
  withExamples(
    command,
    'tidemark tokens create --name backend --scope push --expires 90d',
    'TOKEN=$(tidemark tokens create --name reports --scope read)',
  );
}

function addRevoke(tokens: Command, cli: Cli): void {
  tokens
    .command('revoke')
    .description('Revoke a token at once')
    .addHelpText(
      'before',
      examples('tidemark tokens revoke 0a1b2c3d4e5f6071', 'tidemark tokens revoke 0a1b2c3d4e5f6071 --yes'),
    )
    .argument('<id>', 'the id in the list')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, id: string, { yes }: { readonly yes?: boolean }) => {
        const warning = `Programs that use the token ${id} of ${url} will be refused.`;
        await confirm(cli, { warning, name: id, isConfirmed: yes === true });
        print.record(await api.tokens.revoke(id));
      }),
    );
}

function momentOf(text: string): string {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  const unitMs = unit === undefined ? undefined : UNITS_MS[unit];
  if (unitMs !== undefined) return new Date(Date.now() + Number(count) * unitMs).toISOString();
  if (/^\d{4}-\d\d-\d\dT/.test(text) && Number.isFinite(Date.parse(text))) return text;
  throw usageFailure(`--expires ${JSON.stringify(text)} is neither a time such as 90d nor a moment`);
}

interface StoredToken {
  readonly id: string;
  readonly name: string | null;
  readonly scopes: readonly string[];
}

/** Prints which tokens stay valid after a change of password, and how to revoke them. */
export function printStoredTokens(cli: Cli, tokens: readonly StoredToken[]): void {
  if (tokens.length === 0) return;
  cli.terminal.say('These named tokens stay valid, because programs may depend on them:');
  for (const { id, name, scopes } of tokens) cli.terminal.say(`  ${id}  ${name ?? ''}  (${scopes.join(', ')})`);
  cli.terminal.say('Revoke one with tidemark tokens revoke <id>, or all of them with --revoke-tokens.');
}
