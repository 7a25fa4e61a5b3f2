import type { ClientView } from '@tidemark/core';
import type { Command } from 'commander';
import { path } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { commandGroup, examples } from '../examples.ts';
import { confirm } from '../input.ts';

interface DeleteOptions {
  readonly user?: string;
  readonly yes?: boolean;
}

export function addClients(program: Command, cli: Cli): void {
  const clients = commandGroup(
    program,
    'clients',
    'Manage devices',
    'tidemark users clients ada',
    'tidemark clients show 5f1c0e',
    'tidemark clients delete 5f1c0e',
  );
  clients
    .command('show')
    .description('Show a device')
    .addHelpText('before', examples('tidemark clients show 5f1c0e'))
    .argument('<client>')
    .action(
      cli.remote(async ({ api, print }, client: string, _options: object) =>
        print.record(await api.get<ClientView>(path`/rc/v1/clients/${client}`)),
      ),
    );
  addDelete(clients, cli);
}

function addDelete(clients: Command, cli: Cli): void {
  clients
    .command('delete')
    .description('Delete a device of a user')
    .addHelpText(
      'before',
      examples('tidemark clients delete 5f1c0e', 'tidemark clients delete 5f1c0e --user ada --yes'),
    )
    .argument('<client>')
    .option('--user <login>', 'the owner of the device; looked up by default')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, client: string, { user, yes }: DeleteOptions) => {
        const owner = user ?? (await api.get<ClientView>(path`/rc/v1/clients/${client}`)).user_id;
        const warning = `The device ${client} of ${owner} at ${url} will be deleted with its documents and tokens.`;
        await confirm(cli, { warning, name: client, isConfirmed: yes === true });
        print.record(await api.delete<object>(path`/rc/v1/users/${owner}/clients/${client}`));
      }),
    );
}
