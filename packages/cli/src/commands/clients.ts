import type { ClientList } from '@tidemark/protocol';
import type { Command } from 'commander';
import { given } from '../api-client.ts';
import type { Cli } from '../cli.ts';
import { commandGroup, examples, withExamples } from '../examples.ts';
import { confirm } from '../input.ts';
import { addListOptions, type ListOptions, readRows } from './listing.ts';

interface DeleteOptions {
  readonly user?: string;
  readonly yes?: boolean;
}

interface ClientListOptions extends ListOptions {
  readonly user?: string;
  readonly online?: boolean;
  readonly appVersionBelow?: string;
}

interface WipeOptions {
  readonly yes?: boolean;
}

export function addClients(program: Command, cli: Cli): void {
  const clients = commandGroup(
    program,
    'clients',
    'Manage devices',
    'tidemark clients list --behind',
    'tidemark clients show 5f1c0e',
    'tidemark clients sync 5f1c0e',
    'tidemark clients delete 5f1c0e',
    'tidemark clients wipe 5f1c0e',
  );
  addList(clients, cli);
  clients
    .command('show')
    .description('Show a device')
    .addHelpText('before', examples('tidemark clients show 5f1c0e'))
    .argument('<client>')
    .action(
      cli.remote(async ({ api, print }, client: string, _options: object) =>
        print.record(await api.clients.get(client)),
      ),
    );
  addSync(clients, cli);
  addLabel(clients, cli);
  addEndSessions(clients, cli);
  addDelete(clients, cli);
  addWipe(clients, cli);
}

const COLUMNS = ['client_id', 'user_id', 'name', 'platform', 'app', 'online', 'behind', 'last_contact'];

function addList(clients: Command, cli: Cli): void {
  const command = clients
    .command('list')
    .description('List the devices of all users, with app, last contact and how far they are behind');
  const texts = 'whose id, user, label, name, system or app contains';
  addListOptions(command, { noun: 'devices', texts, whose: 'that' })
    .option('--user <login>', 'only the devices of this user')
    .option('--online', 'only devices that listen for events now')
    .option('--app-version-below <version>', 'only devices whose app has a lower version')
    .action(
      cli.remote(async ({ api, print }, options: ClientListOptions) => {
        const { limit, ...filter } = options;
        const rows = await readRows((page) => api.clients.list({ ...given(filter), ...page }), {
          rowsOf: ({ clients: found }) => found,
          limit,
        });
        print.table(print.isJson ? rows : rows.map(shortened), COLUMNS);
      }),
    );
  withExamples(
    command,
    'tidemark clients list --behind',
    'tidemark clients list --not-seen-days 7 --json',
    'tidemark clients list --text firefox --app-version-below 2.4.0',
  );
}

/** The columns of a device that fit into a line. */
function shortened(row: ClientList['clients'][number]): object {
  const { label, device_name, device_platform, device_app_id, device_app_version, ...rest } = row;
  const app = [device_app_id, device_app_version].filter((text) => text !== null).join(' ');
  return { ...rest, name: label ?? device_name, platform: device_platform, app: app === '' ? null : app };
}

function addLabel(clients: Command, cli: Cli): void {
  const command = clients
    .command('label')
    .description('Set what to call a device; without a text, the label is removed')
    .argument('<client>')
    .argument('[text]')
    .action(
      cli.remote(async ({ api, print }, client: string, text: string | undefined, _options: object) => {
        const { client_id, label } = await api.clients.setLabel(client, text ?? null);
        print.record({ client_id, label });
      }),
    );
  withExamples(command, 'tidemark clients label 5f1c0e "Van 7"', 'tidemark clients label 5f1c0e');
}

function addEndSessions(clients: Command, cli: Cli): void {
  const command = clients
    .command('end-sessions')
    .description('End all sessions of a device; it keeps its data, and its user signs in again')
    .argument('<client>')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, client: string, { yes }: WipeOptions) => {
        const warning = `The device ${client} at ${url} will be signed out.`;
        await confirm(cli, { warning, name: client, isConfirmed: yes === true });
        print.record(await api.clients.endSessions(client));
      }),
    );
  withExamples(command, 'tidemark clients end-sessions 5f1c0e', 'tidemark clients end-sessions 5f1c0e --yes');
}

function addSync(clients: Command, cli: Cli): void {
  clients
    .command('sync')
    .description('Show whether a device is connected, and how far it is with each source')
    .addHelpText('before', examples('tidemark clients sync 5f1c0e', 'tidemark clients sync 5f1c0e --json'))
    .argument('<client>')
    .action(
      cli.remote(async ({ api, print }, client: string, _options: object) => {
        const { online, sources } = await api.clients.sync(client);
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
        print.record(await api.clients.wipe(client));
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
        const owner = user ?? (await api.clients.get(client)).user_id;
        const warning = `The device ${client} of ${owner} at ${url} will be deleted with its documents and tokens.`;
        await confirm(cli, { warning, name: client, isConfirmed: yes === true });
        print.record(await api.users.deleteClient(owner, client));
      }),
    );
}
