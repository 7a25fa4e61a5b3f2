import type { Tidemark, TokenView } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { commandGroup, examples } from '../examples.ts';
import { readPassword } from '../input.ts';
import { requireDataFolder } from '../local/data-folder.ts';
import { withStore } from '../local/with-store.ts';
import { printStoredTokens } from './tokens.ts';

interface ResetOptions {
  readonly passwordStdin?: boolean;
  readonly revokeTokens?: boolean;
}

export function addAdmin(program: Command, cli: Cli): void {
  const admin = commandGroup(
    program,
    'admin',
    'Manage administrators directly in the data folder, for example after a lost password',
    'tidemark admin reset-password --data /var/lib/tidemark',
  );
  withDataFlags(admin.command('reset-password'))
    .description('Set the password of an administrator, without a server and without the old password')
    .addHelpText(
      'before',
      examples(
        'tidemark admin reset-password --data /var/lib/tidemark',
        'tidemark admin reset-password root --password-stdin < password.txt',
      ),
    )
    .argument('[login]', 'the administrator, if there are several')
    .option('--password-stdin', 'read the password from the standard input')
    .option('--revoke-tokens', 'also revoke the named tokens of the administrator')
    .action(async (login: string | undefined, options: ResetOptions, self: Command) => {
      const { config } = configOf(self, cli);
      if (config.store === 'embedded') requireLiveFolder(config.dataFolder);
      const report = await withStore(config, config.dataFolder, async (store) => {
        const { openOfflineTidemark } = await import('@tidemark/server/open-tidemark');
        return resetPassword(cli, await openOfflineTidemark(config, store), { config, login, options });
      });
      tell(cli, self, report);
    });
}

/** Refuses a backup: opening it would give it a new epoch. */
function requireLiveFolder(folder: string): void {
  if (requireDataFolder(folder).state !== 'backup') return;
  throw new CliFailure(`${folder} is a backup`, { hint: 'restore it first, then set the password in the data folder' });
}

interface ResetReport {
  readonly login: string;
  readonly kept_tokens: readonly TokenView[];
}

interface ResetRequest {
  readonly config: Config;
  readonly login: string | undefined;
  readonly options: ResetOptions;
}

async function resetPassword(
  cli: Cli,
  tidemark: Tidemark,
  { config, login, options }: ResetRequest,
): Promise<ResetReport> {
  const chosen = choose(await tidemark.users.admins(), login, config.adminLogin);
  const question = `New password for the administrator ${chosen}: `;
  const password = await readPassword(cli, { question, isFromInput: options.passwordStdin === true, isNew: true });
  try {
    const change = { attributes: { password }, revoke_tokens: options.revokeTokens === true };
    await tidemark.users.update(chosen, change);
  } catch (error) {
    throw error instanceof Refusal ? new CliFailure(error.message) : error;
  }
  const nobody = { actor: null, token_id: null, address: '', request_id: '' };
  const fact = { action: 'admin.reset_password', target: chosen, result: 'ok', subject: { user_id: chosen } };
  await tidemark.audit.record({ ...nobody, ...fact });
  return { login: chosen, kept_tokens: await tidemark.tokens.serviceTokensOf(chosen, Date.now()) };
}

function choose(admins: readonly string[], wanted: string | undefined, configured: string): string {
  const [only] = admins;
  const others = `the administrators are ${admins.join(', ')}`;
  if (only === undefined) {
    throw new CliFailure('there is no administrator yet', { hint: 'the first start of a server makes one' });
  }
  if (wanted !== undefined) {
    if (admins.includes(wanted)) return wanted;
    throw new CliFailure(`${wanted} is no administrator`, { hint: others });
  }
  if (admins.includes(configured)) return configured;
  if (admins.length === 1) return only;
  throw new CliFailure('there are several administrators; name one', { hint: others });
}

function tell(cli: Cli, command: Command, report: ResetReport): void {
  const print = cli.printer(command);
  if (print.isJson) {
    print.json(report);
    return;
  }
  cli.terminal.say(
    `The password of ${report.login} is changed, and everybody logged in with the old one is logged out.`,
  );
  printStoredTokens(cli, report.kept_tokens);
}
