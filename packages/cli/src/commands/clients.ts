import type { ClientView } from '@tidemark/core';
import type { ClientSync } from '@tidemark/protocol';
import type { Command } from 'commander';
import { path } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { commandGroup, examples } from '../examples.ts';
import { confirm } from '../input.ts';

interface DeleteOptions {
  readonly user?: string;
  readonly yes?: boolean;
}

interface WipeOptions {
  readonly yes?: boolean;
}

export function addClients(program: Command, cli: Cli): void {
  const clients = commandGroup(
    program,
    'clients',
    'Manage devices',
    'tidemark users clients ada',
    'tidemark clients show 5f1c0e',
    'tidemark clients sync 5f1c0e',
    'tidemark clients delete 5f1c0e',
    'tidemark clients wipe 5f1c0e',
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
  addSync(clients, cli);
  addDelete(clients, cli);
  addWipe(clients, cli);
}

function addSync(clients: Command, cli: Cli): void {
  clients
    .command('sync')
    .description('Show whether a device is connected, and how far it is with each source')
    .addHelpText('before', examples('tidemark clients sync 5f1c0e', 'tidemark clients sync 5f1c0e --json'))
    .argument('<client>')
    .action(
      cli.remote(async ({ api, print }, client: string, _options: object) => {
        const { online, sources } = await api.get<ClientSync>(path`/rc/v1/clients/${client}/sync`);
        if (print.isJson) return print.json({ online, sources });
        print.record({ online });
        print.table(sources, ['source', 'acknowledged', 'head', 'waiting', 'last_pull']);
      }),
    );
}

function addWipe(clients: Command, cli: Cli): void {
  clients
    .command('wipe')
    .description('Order a lost device to erase its data at its next call; `clients show` tells whether it has')
    .addHelpText('before', examples('tidemark clients wipe 5f1c0e', 'tidemark clients wipe 5f1c0e --yes'))
    .argument('<client>')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, client: string, { yes }: WipeOptions) => {
        const warning = `The device ${client} at ${url} will erase all its data, with changes it has not sent. This cannot be taken back.`;
        await confirm(cli, { warning, name: client, isConfirmed: yes === true });
        print.record(await api.send<object>('POST', path`/rc/v1/clients/${client}/wipe`, {}));
      }),
    );
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
