import type { GroupMembersReport, UserGroups } from '@tidemark/protocol';
import type { Command } from 'commander';
import { listAll, path } from '../api-client.ts';
import type { Cli, CommandAction } from '../cli.ts';
import { commandGroup, examples } from '../examples.ts';

export function addGroups(program: Command, cli: Cli): void {
  const groups = commandGroup(
    program,
    'groups',
    'Groups of users who share data',
    'tidemark groups list',
    'tidemark groups add ada north south',
    'tidemark groups members north',
  );
  groups
    .command('list')
    .description('List the groups that have members')
    .addHelpText('before', examples('tidemark groups list'))
    .action(cli.remote(list));
  groups
    .command('members')
    .description('List the members of a group')
    .addHelpText('before', examples('tidemark groups members north'))
    .argument('<group>')
    .action(cli.remote(members));
  groups
    .command('set-members')
    .description('Make exactly these users the members of a group')
    .addHelpText('before', examples('tidemark groups set-members north ada bob'))
    .argument('<group>')
    .argument('[logins...]')
    .action(cli.remote(setMembers));
  addChanges(groups, cli);
}

function addChanges(groups: Command, cli: Cli): void {
  groups
    .command('of')
    .description('List the groups of a user')
    .addHelpText('before', examples('tidemark groups of ada'))
    .argument('<login>')
    .action(cli.remote(ofUser));
  groups
    .command('add')
    .description('Make a user a member of groups')
    .addHelpText('before', examples('tidemark groups add ada north south'))
    .argument('<login>')
    .argument('<groups...>')
    .action(cli.remote(change('POST')));
  groups
    .command('set')
    .description('Make a user a member of exactly these groups')
    .addHelpText('before', examples('tidemark groups set ada north'))
    .argument('<login>')
    .argument('[groups...]')
    .action(cli.remote(change('PUT')));
  groups
    .command('remove')
    .description('Remove a user from groups')
    .addHelpText('before', examples('tidemark groups remove ada south'))
    .argument('<login>')
    .argument('<groups...>')
    .action(cli.remote(remove));
}

const list: CommandAction<[object]> = async ({ api, print }) => {
  print.names(await listAll<string>(api, '/rc/v1/groups', (group) => group));
};

const members: CommandAction<[string, object]> = async ({ api, print }, group) => {
  print.names(await listAll<string>(api, path`/rc/v1/groups/${group}/members`, (login) => login));
};

const setMembers: CommandAction<[string, readonly string[], object]> = async ({ api, print }, group, logins) => {
  const body = { members: logins };
  print.record(await api.send<GroupMembersReport>('PUT', path`/rc/v1/groups/${group}/members`, body));
};

const ofUser: CommandAction<[string, object]> = async ({ api, print }, login) => {
  print.names((await api.get<UserGroups>(path`/rc/v1/users/${login}/groups`)).groups);
};

function change(method: 'POST' | 'PUT'): CommandAction<[string, readonly string[], object]> {
  return async ({ api, print }, login, groups) => {
    print.record(await api.send<UserGroups>(method, path`/rc/v1/users/${login}/groups`, { groups }));
  };
}

const remove: CommandAction<[string, readonly string[], object]> = async ({ api, print }, login, groups) => {
  for (const group of groups) await api.delete(path`/rc/v1/users/${login}/groups/${group}`);
  print.record(await api.get<UserGroups>(path`/rc/v1/users/${login}/groups`));
};
