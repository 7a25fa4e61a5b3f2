import { Text } from '@mantine/core';
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { DocumentOwner } from '@tidemark/backend';
import { SEARCH_TEXT_UNITS_MAX } from '@tidemark/protocol';
import { type KeyboardEvent, useDeferredValue, useEffect, useState } from 'react';
import { client } from '../api/client.ts';
import { documentNames } from '../api/documents.ts';
import { useIsAdmin } from '../api/session.ts';
import { shownNameOf } from './device-facts.ts';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';

interface Item {
  readonly title: string;
  readonly kind: string;
  readonly to: string;
  readonly params?: Readonly<Record<string, string>>;
  readonly search?: Readonly<Record<string, string>>;
}

interface PaletteProps {
  /** The screens of the menu. */
  readonly screens: readonly { readonly to: string; readonly title: string }[];
}

/** Actions, which open as a dialog of their screen. */
const ACTIONS = [
  { title: 'New source', to: '/sources', word: 'new-source' },
  { title: 'New user', to: '/users', word: 'new-user' },
  { title: 'New ping', to: '/pings', word: 'new-ping' },
  { title: 'New token', to: '/tokens', word: 'new-token' },
  { title: 'Make a backup', to: '/system', word: 'backup' },
] as const;
const ITEMS_MAX = 16;
const NAMES_MAX = 100;
/** Users and devices that the server is asked for. */
const MATCHES_MAX = 5;
/** Sources whose documents are found. */
const DOCUMENT_SOURCES_MAX = 20;

/** Finds screens, actions, sources, users, groups, devices, documents and data. Ctrl+K or ⌘K opens it. */
export function Palette({ screens }: PaletteProps) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: globalThis.KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((before) => !before);
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" className="find" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Find <kbd>Ctrl K</kbd>
      </button>
      <Dialog title="Find" isOpen={isOpen} onClose={() => setOpen(false)}>
        <Finder screens={screens} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Finder({ screens, onClose }: PaletteProps & { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const navigate = useNavigate();
  const items = useItems(screens, text);
  const open = ({ to, params = {}, search = {} }: Item) => {
    onClose();
    void navigate({ to, params, search } as never);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const item = items[active];
    if (step !== undefined) setActive(Math.max(0, Math.min(items.length - 1, active + step)));
    else if (event.key === 'Enter' && item !== undefined) open(item);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <TextField
        label="Screen, action, source, user, group, device, document or data"
        value={text}
        onText={(typed) => {
          setText(typed);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
        role="combobox"
        aria-expanded
        aria-controls="found"
        aria-activedescendant={items.length === 0 ? undefined : `found-${active}`}
        data-autofocus
      />
      <div id="found" role="listbox" aria-label="Found" className="found" tabIndex={-1}>
        {items.map((item, index) => (
          // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the field has the focus and the keys
          <div
            key={JSON.stringify([item.kind, item.to, item.params, item.search])}
            id={`found-${index}`}
            role="option"
            aria-selected={index === active}
            onClick={() => open(item)}
          >
            <span className="name">{item.title}</span>
            <Text size="xs" c="dimmed" component="span">
              {item.kind}
            </Text>
          </div>
        ))}
      </div>
      {items.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing has this name.
        </Text>
      )}
    </>
  );
}

function useItems(screens: PaletteProps['screens'], text: string): readonly Item[] {
  const typed = useDeferredValue(text.trim());
  const names = useNames(typed !== '');
  const matches = useMatches(typed);
  const isAdmin = useIsAdmin();
  const words = text.trim().toLowerCase().split(/\s+/);
  const found: Item[] = [];
  for (const item of itemsOf(screens, isAdmin ? ACTIONS : [], names)) {
    const described = `${item.title} ${item.kind}`.toLowerCase();
    if (words.every((word) => described.includes(word))) found.push(item);
    if (found.length === ITEMS_MAX) return found;
  }
  const isNew = ({ to, params }: Item) =>
    found.every((item) => item.to !== to || JSON.stringify(item.params) !== JSON.stringify(params));
  found.push(...matches.filter(isNew).slice(0, ITEMS_MAX - found.length));
  return found;
}

/** Users and devices that the server finds by the text, and the device with exactly this id. */
function useMatches(typed: string): readonly Item[] {
  const options = { enabled: typed !== '', placeholderData: keepPreviousData };
  const limit = MATCHES_MAX;
  const [users, devices, named] = useQueries({
    queries: [
      {
        queryKey: ['found', 'users', typed],
        queryFn: () => client.users.details({ text: typed.slice(0, SEARCH_TEXT_UNITS_MAX), limit }),
        ...options,
      },
      {
        queryKey: ['found', 'devices', typed],
        queryFn: () => client.clients.list({ text: typed.slice(0, SEARCH_TEXT_UNITS_MAX), limit }),
        ...options,
      },
      { queryKey: ['found', 'device', typed], queryFn: () => client.clients.names([typed]), ...options },
    ],
  });
  if (typed === '') return [];
  const logins = users.data?.users ?? [];
  const clients = new Map([...(named.data ?? []), ...(devices.data?.clients ?? [])].map((one) => [one.client_id, one]));
  return [
    ...logins.map(({ login }) => ({ title: login, kind: 'user', to: '/users/$login', params: { login } })),
    ...[...clients.values()].map((device) => ({
      title: shownNameOf(device) ?? device.client_id,
      kind: `device of ${device.user_id}`,
      to: '/devices/$id',
      params: { id: device.client_id },
    })),
  ];
}

/** Yields everything that can be found, one by one: a source can have a hundred thousand documents. */
function* itemsOf(
  screens: PaletteProps['screens'],
  actions: readonly (typeof ACTIONS)[number][],
  { sources, users, groups, documents }: ReturnType<typeof useNames>,
): Generator<Item, void> {
  for (const { to, title } of screens) yield { title, kind: 'screen', to };
  for (const { title, to, word } of actions) yield { title, kind: 'action', to, search: { do: word } };
  for (const { name } of sources) {
    yield { title: name, kind: 'source', to: '/sources/$name', params: { name } };
    yield { title: name, kind: 'data', to: '/data', search: { source: name } };
  }
  for (const login of users) yield { title: login, kind: 'user', to: '/users/$login', params: { login } };
  for (const group of groups) yield { title: group, kind: 'group', to: '/groups/$group', params: { group } };
  for (const { source, names } of documents) {
    for (const doc of names) yield documentItem(source, doc);
  }
  const owners = { user: users, group: groups, app: [] };
  for (const { name: source, partition_type: type } of sources) {
    for (const owner of owners[type]) {
      yield { title: `${source} of ${owner}`, kind: `data of ${type}`, to: '/data', search: { source, [type]: owner } };
    }
  }
}

function documentItem(source: string | null, doc: string): Item {
  return {
    title: `${doc} of ${source ?? 'the server'}`,
    kind: 'document',
    to: '/data',
    search: source === null ? { of: 'server', doc } : { source, of: 'shared', doc },
  };
}

/**
 * Names that can be found. Documents are those of the server and those that all users of a source share; they are read
 * for a typed text.
 */
function useNames(isTyped: boolean) {
  const { data: sources = [] } = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const { data: users = [] } = useQuery({
    queryKey: ['suggested', 'users'],
    queryFn: () => client.users.list({ limit: NAMES_MAX }),
  });
  const { data: groups = [] } = useQuery({
    queryKey: ['suggested', 'groups'],
    queryFn: () => client.groups.list({ limit: NAMES_MAX }),
  });
  const shared = sources
    .slice(0, DOCUMENT_SOURCES_MAX)
    .map(({ name: source }): DocumentOwner => ({ source, shared: true }));
  const owners: readonly DocumentOwner[] = ['server', ...shared];
  const documents = useQueries({
    queries: owners.map((owner) => ({ ...documentNames(owner), enabled: isTyped })),
    combine: (results) =>
      results.map(({ data: names = [] }, index) => {
        const owner = owners[index] ?? 'server';
        return { source: owner === 'server' ? null : owner.source, names };
      }),
  });
  return { sources, users, groups, documents };
}
