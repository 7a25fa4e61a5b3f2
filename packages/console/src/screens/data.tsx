import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { DocumentOwner } from '@tidemark/backend';
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
import { type ViewSearch, WHOLE_VIEW } from './object-view.ts';

/** What is shown, which is part of the address. */
interface Shown extends ViewSearch {
  readonly source?: string;
  readonly user?: string;
  readonly group?: string;
  /** The id of an object to add. */
  readonly add?: string;
  /** The id of an object to open. */
  readonly object?: string;
  /** Whose other documents are shown; absent: those of the owner of the objects. */
  readonly of?: string;
  readonly whose?: string;
  /** The document that is open. */
  readonly doc?: string;
}

const OWNERS_SUGGESTED = 100;
const OWNERS_OFFERED = 24;
/** Shows the documents of the owner of the objects, and opens none. */
const OWN_DOCUMENTS = { of: '', whose: '', doc: '' } as const;

export function Data() {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  return (
    <Page
      title="Data"
      about="The objects that devices keep in sync, in the order of their last change unless you sort them."
    >
      <Loaded query={sources}>{(all) => (all.length === 0 ? <NoSources /> : <Choice sources={all} />)}</Loaded>
    </Page>
  );
}

/** Without a source, the documents of the server are the only ones. */
function NoSources() {
  const { doc = '' } = useSearch({ strict: false }) as Shown;
  const navigate = useNavigate();
  return (
    <>
      <Empty title="No sources yet">
        Sources hold the objects. <Link to="/sources">Sources</Link> makes one.
      </Empty>
      <Section title="Documents of the server">
        <Documents
          owner="server"
          open={doc === '' ? null : doc}
          onOpen={(name) => void navigate({ to: '/data', search: { of: 'server', doc: name ?? '' } as never })}
        />
      </Section>
    </>
  );
}

function Choice({ sources }: { readonly sources: readonly Source[] }) {
  const shown = useSearch({ strict: false }) as Shown;
  const navigate = useNavigate();
  const source = sourceOf(sources, shown);
  if (source === undefined) return null;
  const show = (changes: Shown) =>
    void navigate({ to: '/data', search: { ...shown, add: '', object: '', ...changes } as never });
  const owner = ownerOf(source, shown);
  return (
    <>
      <Group gap="sm" align="end">
        <NativeSelect
          label="Source"
          value={source.name}
          onChange={(event) => show({ source: event.currentTarget.value, ...OWN_DOCUMENTS, ...WHOLE_VIEW })}
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
            onName={(name) => show({ source: source.name, [source.partition_type]: name, ...OWN_DOCUMENTS })}
          />
        )}
      </Group>
      {owner === null && source.partition_type !== 'app' ? (
        <ChooseOwner
          type={source.partition_type}
          onName={(name) => show({ source: source.name, [source.partition_type]: name, ...OWN_DOCUMENTS })}
        />
      ) : null}
      {owner !== null && (
        <ObjectTable
          key={JSON.stringify([owner, shown.object])}
          owner={owner}
          references={source.references ?? {}}
          adding={shown.add === '' ? undefined : shown.add}
          opening={shown.object === '' ? undefined : shown.object}
        />
      )}
      <Section title="Other documents">
        <DocumentsOf source={source} owner={owner} shown={shown} onShow={show} />
      </Section>
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

function useOwners(type: OwnerFieldProps['type']) {
  return useQuery({
    queryKey: ['suggested', `${type}s`],
    queryFn: () => client[`${type}s`].list({ limit: OWNERS_SUGGESTED }),
  });
}

/** Offers the first users or groups, so that their objects are a click away. */
function ChooseOwner({ type, onName }: Omit<OwnerFieldProps, 'name'>) {
  const { data = [] } = useOwners(type);
  const offered = data.slice(0, OWNERS_OFFERED);
  return (
    <Empty
      title="Whose data?"
      actions={
        <Group gap="xs">
          {offered.map((name) => (
            <Button key={name} variant="default" size="compact-sm" onClick={() => onName(name)}>
              <span className="name">{name}</span>
            </Button>
          ))}
        </Group>
      }
    >
      The data of this source belongs to {type}s. Choose one
      {data.length > offered.length && ', or type another one above'}.
    </Empty>
  );
}

/** Asks for the user or the group whose objects are shown. */
function OwnerField({ type, name, onName }: OwnerFieldProps) {
  const [typed, setTyped] = useState(name);
  useEffect(() => setTyped(name), [name]);
  const { data = [] } = useOwners(type);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onName(typed);
      }}
    >
      <Group gap={6} align="end">
        <TextField label={type === 'user' ? 'User' : 'Group'} value={typed} onText={setTyped} list="owners" />
        <Button type="submit" variant="default">
          Show objects
        </Button>
      </Group>
      <datalist id="owners">
        {data.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </form>
  );
}

interface DocumentsOfProps {
  readonly source: Source;
  /** Whose objects are shown; null: nobody is chosen. */
  readonly owner: ObjectOwner | null;
  readonly shown: Shown;
  readonly onShow: (changes: Shown) => void;
}

const KINDS = {
  shared: 'all users',
  user: 'a user',
  group: 'a group',
  client: 'a device',
  server: 'the server, in no source',
} as const;
const NAMELESS_KINDS: readonly string[] = ['', 'shared', 'server'];

/** Chooses whose documents are shown. Users and devices can have documents in every source, whoever owns its objects. */
function DocumentsOf({ source: { name: source, partition_type }, owner, shown, onShow }: DocumentsOfProps) {
  const { of = '', whose = '', doc = '' } = shown;
  const [typed, setTyped] = useState(whose);
  useEffect(() => setTyped(whose), [whose]);
  const kinds = Object.entries(KINDS).filter(([kind]) => kind !== 'group' || partition_type === 'group');
  const own = owner === null || partition_type === 'app' ? [] : [{ value: '', label: ownerWords(owner) }];
  const kind = of === '' && own.length === 0 ? 'shared' : of;
  const documentOwner = documentOwnerOf({ source, kind, whose }, owner);
  return (
    <>
      <Group gap="sm" align="end">
        <NativeSelect
          label="Documents of"
          value={kind}
          onChange={(event) => onShow({ ...OWN_DOCUMENTS, of: event.currentTarget.value })}
          data={[...own, ...kinds.map(([value, label]) => ({ value, label }))]}
        />
        {!NAMELESS_KINDS.includes(kind) && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              onShow({ of: kind, whose: typed, doc: '' });
            }}
          >
            <Group gap={6} align="end">
              <TextField label={kind === 'client' ? 'Device id' : 'Name'} value={typed} onText={setTyped} />
              <Button type="submit" variant="default">
                Show documents
              </Button>
            </Group>
          </form>
        )}
      </Group>
      {documentOwner === null ? (
        <Text size="sm" c="dimmed" className="card">
          Type the {kind === 'client' ? 'id of the device' : `name of the ${kind}`} above.
        </Text>
      ) : (
        <Documents
          key={JSON.stringify(documentOwner)}
          owner={documentOwner}
          open={doc === '' ? null : doc}
          onOpen={(name) => onShow({ of, whose, doc: name ?? '' })}
        />
      )}
    </>
  );
}

interface Chosen {
  readonly source: string;
  readonly kind: string;
  readonly whose: string;
}

/** Null: the name is missing. */
function documentOwnerOf({ source, kind, whose }: Chosen, owner: ObjectOwner | null): DocumentOwner | null {
  if (kind === 'server') return 'server';
  if (kind === 'shared') return { source, shared: true };
  if (kind === '') return owner;
  if (whose === '') return null;
  if (kind === 'client') return { source, client: whose };
  return kind === 'group' ? { source, group: whose } : { source, user: whose };
}

function ownerWords(owner: ObjectOwner): string {
  if ('user' in owner) return `the user ${owner.user}`;
  return 'group' in owner ? `the group ${owner.group}` : KINDS.shared;
}
