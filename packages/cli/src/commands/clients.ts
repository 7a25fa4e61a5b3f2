import type { ClientView } from '@tidemark/core';
import type { Command } from 'commander';
import { path } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { confirm } from '../confirm.ts';
import { commandGroup, examples } from '../examples.ts';

interface DeleteOptions {
  readonly user?: string;
  readonly yes?: boolean;
}

export function addClients(program: Command, cli: Cli): void {
  const clients = commandGroup(
    program,
    'clients',
    'The devices',
    'tidemark users clients ada',
    'tidemark clients show 5f1c0e',
    'tidemark clients delete 5f1c0e',
  );
  clients
    .command('show')
    .description('What is known of a device')
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
    .option('--user <login>', 'whose device it is; looked up when it is not given')
    .option('--yes', 'do not ask')
    .action(
      cli.remote(async ({ api, print, url }, client: string, { user, yes }: DeleteOptions) => {
        const owner = user ?? (await api.get<ClientView>(path`/rc/v1/clients/${client}`)).user_id;
        const warning = `The device ${client} of ${owner} at ${url} goes with its documents and tokens.`;
        await confirm(cli, { warning, word: client, isConfirmed: yes === true });
        print.record(await api.delete<object>(path`/rc/v1/users/${owner}/clients/${client}`));
      }),
    );
}
