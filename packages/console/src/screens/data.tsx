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
  readonly group?: string;
  /** The id of an object to add. */
  readonly add?: string;
}

const OWNERS_SUGGESTED = 100;

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
  const shown = useSearch({ strict: false }) as Shown;
  const navigate = useNavigate();
  const source = sourceOf(sources, shown);
  if (source === undefined) return null;
  const show = (changes: Shown) => void navigate({ to: '/data', search: { ...shown, add: '', ...changes } as never });
  const owner = ownerOf(source, shown);
  return (
    <>
      <Group gap="sm" align="end">
        <NativeSelect
          label="Source"
          value={source.name}
          onChange={(event) => show({ source: event.currentTarget.value })}
          data={sources.map((one) => one.name)}
        />
        {source.partition_type === 'app' ? (
          <Text size="sm" c="dimmed" pb={8}>
            Shared by all users
          </Text>
        ) : (
          <OwnerField
            key={source.partition_type}
            type={source.partition_type}
            name={shown[source.partition_type] ?? ''}
            onName={(name) => show({ source: source.name, [source.partition_type]: name })}
          />
        )}
      </Group>
      {owner === null ? (
        <Empty title="Whose data?">
          The data of this source belongs to {source.partition_type}s. Choose one above.
        </Empty>
      ) : (
        <Owned key={JSON.stringify(owner)} owner={owner} adding={shown.add === '' ? undefined : shown.add} />
      )}
    </>
  );
}

/** The source that the address names. With a group and no source, it is the first whose data belongs to groups. */
function sourceOf(sources: readonly Source[], { source: name, group }: Shown): Source | undefined {
  const named = sources.find((one) => one.name === name);
  const ofGroups = group === undefined ? undefined : sources.find(({ partition_type }) => partition_type === 'group');
  return named ?? ofGroups ?? sources[0];
}

function ownerOf({ name: source, partition_type }: Source, { user = '', group = '' }: Shown): ObjectOwner | null {
  if (partition_type === 'app') return { source, shared: true };
  if (partition_type === 'group') return group === '' ? null : { source, group };
  return user === '' ? null : { source, user };
}

interface OwnerFieldProps {
  readonly type: 'user' | 'group';
  readonly name: string;
  readonly onName: (name: string) => void;
}

/** Asks for the user or the group whose objects are shown. */
function OwnerField({ type, name, onName }: OwnerFieldProps) {
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  const { data = [] } = useQuery({
    queryKey: [`${type}s`, 'suggested'],
    queryFn: () => client[`${type}s`].list({ limit: OWNERS_SUGGESTED }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onName(typed);
      }}
    >
      <TextField
        label={type === 'user' ? 'User' : 'Group'}
        description={`Press Enter to show the objects of this ${type}.`}
        inputWrapperOrder={['label', 'input', 'description']}
        value={typed}
        onText={setTyped}
        list="owners"
      />
      <datalist id="owners">
        {data.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </form>
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
