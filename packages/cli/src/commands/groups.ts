import type { Command } from 'commander';
import { allOf } from '../api-client.ts';
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
    .action(cli.remote(add));
  groups
    .command('set')
    .description('Make a user a member of exactly these groups')
    .addHelpText('before', examples('tidemark groups set ada north'))
    .argument('<login>')
    .argument('[groups...]')
    .action(cli.remote(set));
  groups
    .command('remove')
    .description('Remove a user from groups')
    .addHelpText('before', examples('tidemark groups remove ada south'))
    .argument('<login>')
    .argument('<groups...>')
    .action(cli.remote(remove));
}

const list: CommandAction<[object]> = async ({ api, print }) => {
  print.names(await allOf(api.groups.every()));
};

const members: CommandAction<[string, object]> = async ({ api, print }, group) => {
  print.names(await allOf(api.groups.everyMember(group)));
};

const setMembers: CommandAction<[string, readonly string[], object]> = async ({ api, print }, group, logins) => {
  print.record(await api.groups.setMembers(group, logins));
};

const ofUser: CommandAction<[string, object]> = async ({ api, print }, login) => {
  print.names((await api.groups.of(login)).groups);
};

const add: CommandAction<[string, readonly string[], object]> = async ({ api, print }, login, groups) => {
  print.record(await api.groups.add(login, groups));
};

const set: CommandAction<[string, readonly string[], object]> = async ({ api, print }, login, groups) => {
  print.record(await api.groups.set(login, groups));
};

const remove: CommandAction<[string, readonly string[], object]> = async ({ api, print }, login, groups) => {
  for (const group of groups) await api.groups.remove(login, group);
  print.record(await api.groups.of(login));
};
