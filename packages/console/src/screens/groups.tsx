import { Button } from '@mantine/core';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { GroupDetails } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { curlOf, quoted } from '../api/curl.ts';
import { usePages } from '../api/pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page, Section } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';

const NAMES = { limit: 100, nameOf: (name: string) => name };
const GROUPS: readonly Column<GroupDetails>[] = [
  { title: 'Group', cell: ({ group }) => <NameLink kind="group" name={group} /> },
  { title: 'Members', cell: ({ members }) => members.toLocaleString('en'), isNumber: true },
];

export function Groups() {
  const query = usePages({
    queryKey: ['groups', 'details'],
    limit: NAMES.limit,
    read: (page) => client.groups.details(page),
    nameOf: ({ group }) => group,
  });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Groups"
      about="Users of a group share the objects of sources whose data belongs to groups."
      actions={isAdmin && <AddMember />}
    >
      <Loaded query={query}>
        {({ pages }) =>
          pages.flat().length === 0 ? (
            <NoGroups />
          ) : (
            <DataTable label="Groups" rows={pages.flat()} keyOf={({ group }) => group} columns={GROUPS} />
          )
        }
      </Loaded>
      <PagesButton query={query}>More groups</PagesButton>
    </Page>
  );
}

function NoGroups() {
  return (
    <Empty
      title="No groups yet"
      curl={curlOf((api) => api.groups.add('ada', ['north']))}
      cli={`tidemark --url ${SERVER_URL} groups add ada north`}
    >
      A group exists while it has members. Add the first one with the button above, or with one of these commands.
    </Empty>
  );
}

export function Group() {
  const { group } = useParams({ strict: false }) as { readonly group: string };
  const query = usePages({
    ...NAMES,
    queryKey: ['groups', 'members', group],
    read: (page) => client.groups.members(group, page),
  });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title={group}
      parent={{ title: 'Groups', to: '/groups' }}
      actions={
        <>
          <Button
            size="sm"
            variant="default"
            component={Link}
            {...({ to: '/data', search: { group } } as { readonly to: string })}
          >
            Show data
          </Button>
          {isAdmin && <AddMember group={group} />}
        </>
      }
    >
      <Section title="Members">
        <Loaded query={query}>
          {({ pages }) =>
            pages.flat().length === 0 ? (
              <Empty
                title="Nobody is in this group"
                curl={curlOf((api) => api.groups.add('ada', [group]))}
                cli={`tidemark --url ${SERVER_URL} groups add ada ${quoted(group)}`}
              >
                Its objects stay, and are delivered when it has members again.
              </Empty>
            ) : (
              <DataTable
                label="Members"
                rows={pages.flat()}
                keyOf={(login) => login}
                columns={memberColumns(group, isAdmin)}
              />
            )
          }
        </Loaded>
        <PagesButton query={query}>More members</PagesButton>
      </Section>
    </Page>
  );
}

function memberColumns(group: string, isAdmin: boolean): readonly Column<string>[] {
  const login: Column<string> = { title: 'Login', cell: (name) => <NameLink kind="user" name={name} /> };
  if (!isAdmin) return [login];
  return [login, { title: 'Actions', cell: (name) => <RemoveMember group={group} login={name} /> }];
}

/** Adds a user to a group. Without a group given, the group is asked for, too. */
function AddMember({ group }: { readonly group?: string }) {
  const [login, setLogin] = useState('');
  const [typed, setTyped] = useState('');
  const navigate = useNavigate();
  const name = group ?? typed;
  return (
    <Action
      label="Add member"
      title="Add a member"
      verb="Add member"
      call={(api) => api.groups.add(login, [name])}
      isDisabled={login === '' || name === ''}
      onDone={() => {
        setLogin('');
        setTyped('');
        return group === undefined ? navigate({ to: '/groups/$group', params: { group: name } }) : undefined;
      }}
    >
      {group === undefined && (
        <TextField
          label="Group"
          description="A new name makes a new group."
          value={typed}
          onText={setTyped}
          placeholder="north"
          data-autofocus
        />
      )}
      <TextField label="Login of the user" value={login} onText={setLogin} placeholder="ada" />
    </Action>
  );
}

function RemoveMember({ group, login }: { readonly group: string; readonly login: string }) {
  return (
    <Action
      label="Remove"
      title={`Remove ${login} from ${group}`}
      verb="Remove member"
      button={{ variant: 'default', size: 'compact-sm' }}
      call={(api) => api.groups.remove(login, group)}
    >
      The devices of this user remove the objects of the group at their next contact.
    </Action>
  );
}
