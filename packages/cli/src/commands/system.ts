import { type Command, Option } from 'commander';
import { given, withFailures } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { usageFailure } from '../cli-failure.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { confirm } from '../input.ts';
import { printChecks } from '../local/checks.ts';
import { addAudit } from './audit.ts';
import { printSettings } from './config.ts';

export function addSystem(program: Command, cli: Cli): void {
  addLicense(program, cli);
  addSettings(program, cli);
  addAppserver(program, cli);
  addAudit(program, cli);
  addReset(program, cli);
}

function addLicense(program: Command, cli: Cli): void {
  const command = program
    .command('license')
    .description('Show the licence of the server')
    .action(cli.remote(async ({ api, print }, _options: object) => print.record(await api.system.license())));
  withExamples(command, 'tidemark license', 'tidemark license --json');
}

function addSettings(program: Command, cli: Cli): void {
  const command = program
    .command('settings')
    .description('Show every setting of the server with its value and its origin')
    .action(cli.remote(async ({ api, print }, _options: object) => printSettings(print, await api.system.settings())));
  withExamples(command, 'tidemark settings', 'tidemark settings --json');
}

function addAppserver(program: Command, cli: Cli): void {
  const appserver = commandGroup(
    program,
    'appserver',
    'The address of the backend application',
    'tidemark appserver get',
    'tidemark appserver set http://127.0.0.1:8080/tidemark',
    'tidemark appserver set --none',
    'tidemark appserver check',
  );
  appserver
    .command('get')
    .description('Show the address of the backend')
    .addHelpText('before', examples('tidemark appserver get'))
    .action(cli.remote(async ({ api, print }, _options: object) => print.record(await api.system.appserver())));
  appserver
    .command('set')
    .description('Set or remove the address of the backend')
    .addHelpText(
      'before',
      examples('tidemark appserver set http://127.0.0.1:8080/tidemark', 'tidemark appserver set --none'),
    )
    .argument('[url]')
    .addOption(new Option('--none', 'there is no backend any more'))
    .action(
      cli.remote(async ({ api, print }, url: string | undefined, { none }: { readonly none?: boolean }) => {
        if ((url === undefined) !== (none === true)) throw usageFailure('give either a URL or --none');
        print.record(await api.system.setAppserver(url ?? null));
      }),
    );
  addCheck(appserver, cli);
  addFailures(appserver, cli);
  addBackendSecret(appserver, cli);
}

function addCheck(appserver: Command, cli: Cli): void {
  appserver
    .command('check')
    .description('Let the server call the backend, and report problems')
    .addHelpText('before', examples('tidemark appserver check', 'tidemark appserver check --user ada --json'))
    .option('--user <login>', 'the user for queries of sources with data per user')
    .action(async ({ user }: { readonly user?: string }, self: Command) => {
      const session = cli.session(self);
      const { checks } = await withFailures(session, () => session.api.system.checkAppserver(given({ user })));
      printChecks(cli, self, checks);
    });
}

function addFailures(appserver: Command, cli: Cli): void {
  appserver
    .command('failures')
    .description('Show the last calls to the backend that failed, with its words')
    .addHelpText('before', examples('tidemark appserver failures', 'tidemark appserver failures --json'))
    .action(
      cli.remote(async ({ api, print }, _options: object) => {
        const { failures } = await api.system.appserverFailures();
        print.table(failures, ['at', 'call', 'source', 'user_id', 'status', 'reason', 'detail']);
      }),
    );
}

function addBackendSecret(appserver: Command, cli: Cli): void {
  appserver
    .command('secret')
    .description('Show the secret that signs calls to the backend')
    .addHelpText('before', examples('tidemark appserver secret'))
    .action(
      cli.remote(async ({ api, print }, _options: object) => {
        const { secret } = await api.system.backendSecret();
        if (print.isJson) return print.json({ secret });
        if (secret === null) return cli.terminal.say('The secret is set in the configuration and is not shown.');
        cli.terminal.out(`${secret}\n`);
      }),
    );
}

function addReset(program: Command, cli: Cli): void {
  const command = program
    .command('reset')
    .description('Delete all users, devices, documents and objects')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, { yes }: { readonly yes?: boolean }) => {
        const warning = `Everything on ${url} will be deleted, except administrators, configured sources and this token. This cannot be undone.`;
        await confirm(cli, { warning, name: new URL(url).host, isConfirmed: yes === true });
        print.record(await api.system.reset());
      }),
    );
  withExamples(command, 'tidemark reset', 'tidemark reset --url http://127.0.0.1:9292 --yes');
}
