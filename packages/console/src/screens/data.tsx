import { Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { Source } from '@tidemark/protocol';
import { useEffect, useState } from 'react';
import { client } from '../api/client.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { Empty } from '../components/command.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page, Section } from '../components/page.tsx';
import { Documents } from './documents.tsx';
import { ObjectTable } from './object-table.tsx';

/** What is shown, which is part of the address. */
interface Shown {
  readonly source?: string;
  readonly user?: string;
  /** The id of an object to add. */
  readonly add?: string;
}

const USERS_SUGGESTED = 100;

export function Data() {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  return (
    <Page title="Data" about="The objects that devices keep in sync, in the order of their last change.">
      <Loaded query={sources}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No sources yet">Sources hold the objects. The screen Sources creates one.</Empty>
          ) : (
            <Choice sources={all} />
          )
        }
      </Loaded>
    </Page>
  );
}

function Choice({ sources }: { readonly sources: readonly Source[] }) {
  const { source: name, user = '', add } = useSearch({ strict: false }) as Shown;
  const navigate = useNavigate();
  const source = sources.find((one) => one.name === name) ?? sources[0];
  const [typed, setTyped] = useState(user);
  useEffect(() => setTyped(user), [user]);
  if (source === undefined) return null;
  const isShared = source.partition_type === 'app';
  const show = (shown: Shown) => void navigate({ to: '/data', search: shown as never });
  const owner: ObjectOwner | null = isShared
    ? { source: source.name, shared: true }
    : user === ''
      ? null
      : { source: source.name, user };
  return (
    <>
      <Group gap="sm" align="end">
        <NativeSelect
          label="Source"
          value={source.name}
          onChange={(event) => show({ source: event.currentTarget.value, user })}
          data={sources.map((one) => one.name)}
        />
        {isShared ? (
          <Text size="sm" c="dimmed" pb={8}>
            Shared by all users
          </Text>
        ) : (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              show({ source: source.name, user: typed });
            }}
          >
            <TextField
              label="User"
              description="Press Enter to show the objects of this user."
              inputWrapperOrder={['label', 'input', 'description']}
              value={typed}
              onText={setTyped}
              list="logins"
            />
            <Logins />
          </form>
        )}
      </Group>
      {owner === null ? (
        <Empty title="Whose data?">The data of this source belongs to users. Choose one above.</Empty>
      ) : (
        <Owned key={JSON.stringify(owner)} owner={owner} adding={add} />
      )}
    </>
  );
}

function Logins() {
  const { data } = useQuery({
    queryKey: ['users', 'suggested'],
    queryFn: () => client.users.list({ limit: USERS_SUGGESTED }),
  });
  return (
    <datalist id="logins">
      {(data ?? []).map((login) => (
        <option key={login} value={login} />
      ))}
    </datalist>
  );
}

function Owned({ owner, adding }: { readonly owner: ObjectOwner; readonly adding: string | undefined }) {
  return (
    <>
      <ObjectTable owner={owner} adding={adding} />
      <Section title="Other documents">
        <Documents owner={owner} />
      </Section>
    </>
  );
}
