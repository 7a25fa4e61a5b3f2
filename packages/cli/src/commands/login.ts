import { TidemarkError } from '@tidemark/backend';
import type { Command } from 'commander';
import { allOf, withFailures } from '../api-client.ts';
import type { Cli, Session } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { isExposed, tokenIdOf } from '../credentials.ts';
import { withExamples } from '../examples.ts';
import { readPassword } from '../input.ts';

interface LoginOptions {
  readonly passwordStdin?: boolean;
  readonly idTokenStdin?: boolean;
}

export function addLogin(program: Command, cli: Cli): void {
  addLogIn(program, cli);
  addLogOut(program, cli);
  addWhoAmI(program, cli);
}

function addLogIn(program: Command, cli: Cli): void {
  const command = program
    .command('login')
    .description('Log in to a server, and store the token for later commands')
    .argument('[login]', 'the administrator', 'admin')
    .option('--password-stdin', 'read the password from the standard input')
    .option('--id-token-stdin', 'read an ID token of the identity provider from the standard input')
    .action(async (login: string, options: LoginOptions, self: Command) => {
      const session = cli.bearer(self, null);
      const { api, url, print } = session;
      if (isExposed(url)) cli.terminal.say(`warning: the password is sent to ${url} unencrypted; use https`);
      const proof = options.idTokenStdin
        ? { idToken: (await cli.terminal.readInput()).trim() }
        : { login, password: await passwordFor(cli, options, `Password of ${login} at ${url}: `) };
      const { token, user, expires_at } = await withFailures(session, () => api.system.logIn(proof));
      cli.credentials.keep(url, { login: user, token, expires_at });
      if (print.isJson) print.json({ url, login: user, expires_at });
      else cli.terminal.say(`Logged in to ${url} as ${user}${until(expires_at)}.`);
    });
  withExamples(
    command,
    'tidemark login',
    'tidemark login --url https://sync.example boss',
    'tidemark login --password-stdin < password.txt',
    'get-id-token | tidemark login --id-token-stdin',
  );
}

function passwordFor(cli: Cli, { passwordStdin }: LoginOptions, question: string): Promise<string> {
  return readPassword(cli, { question, isFromInput: passwordStdin === true, isNew: false });
}

function addLogOut(program: Command, cli: Cli): void {
  const command = program
    .command('logout')
    .description('Revoke and delete the token that login has stored')
    .action(async (_options: object, self: Command) => {
      const url = cli.url(self);
      const kept = cli.credentials.find(url);
      if (kept === null) return cli.terminal.say(`There is no token for ${url}.`);
      cli.credentials.forget(url);
      await revoke(cli.bearer(self, kept.token), kept.token);
      cli.terminal.say(`Logged out of ${url}.`);
    });
  withExamples(command, 'tidemark logout', 'tidemark logout --url https://sync.example');
}

/** Revokes the token and always removes it here; an expired token needs no revocation. */
async function revoke(session: Session, token: string): Promise<void> {
  const { api, url } = session;
  try {
    await withFailures(session, () => api.tokens.revoke(tokenIdOf(token)));
  } catch (error) {
    if (!(error instanceof CliFailure)) throw error;
    const { code } = error.particulars;
    if (code === 'token_invalid' || code === 'token_not_found') return;
    const message = `the token is forgotten here but not revoked at ${url}: ${error.message}`;
    throw new CliFailure(message, { ...error.particulars, exitCode: error.exitCode });
  }
}

function addWhoAmI(program: Command, cli: Cli): void {
  const command = program
    .command('whoami')
    .description('Show which token is used, and its owner')
    .action(cli.remote(async (session: Session, _options: object) => session.print.record(await whoAmI(cli, session))));
  withExamples(command, 'tidemark whoami', 'tidemark whoami --json');
}

async function whoAmI(cli: Cli, { api, url }: Session): Promise<object> {
  const token = cli.token(url) ?? '';
  const from = cli.env.TIDEMARK_TOKEN ? 'TIDEMARK_TOKEN' : cli.credentials.file;
  try {
    const tokens = await allOf(api.tokens.every());
    const { user, scopes, name, expires_at } = tokens.find(({ id }) => id === tokenIdOf(token)) ?? {};
    return { url, user: user ?? null, name: name ?? null, scopes: scopes ?? [], expires_at: expires_at ?? null, from };
  } catch (error) {
    // A token without the scope admin may not list tokens.
    if (!(error instanceof TidemarkError) || error.code !== 'forbidden') throw error;
    return { url, user: null, name: null, scopes: 'not admin', expires_at: null, from };
  }
}

function until(expiresAt: string | null): string {
  return expiresAt === null ? '' : ` until ${expiresAt}`;
}
