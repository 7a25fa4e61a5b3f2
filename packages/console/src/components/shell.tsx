import { ActionIcon, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Link, Outlet } from '@tanstack/react-router';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { setSession, useIsAdmin, useSession } from '../api/session.ts';
import icon from '../icon.svg';
import { Dialog } from './dialog.tsx';
import { Icon, type IconName } from './icons.tsx';
import { Failure } from './loaded.tsx';
import { Palette } from './palette.tsx';
import { ServerGone } from './server-gone.tsx';

interface MenuItem {
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
  /** True: only administrators may read it. */
  readonly isForAdmins?: boolean;
}

const MENU: readonly (readonly [group: string, items: readonly MenuItem[]])[] = [
  ['', [{ to: '/', title: 'Overview', icon: 'overview' }]],
  [
    'Data',
    [
      { to: '/sources', title: 'Sources', icon: 'sources' },
      { to: '/data', title: 'Data', icon: 'data' },
      { to: '/files', title: 'Files', icon: 'files' },
      { to: '/users', title: 'Users', icon: 'users' },
      { to: '/groups', title: 'Groups', icon: 'groups' },
      { to: '/devices', title: 'Devices', icon: 'devices' },
    ],
  ],
  [
    'Work',
    [
      { to: '/pings', title: 'Pings', icon: 'pings' },
      { to: '/jobs', title: 'Jobs', icon: 'jobs' },
      { to: '/backend', title: 'Backend', icon: 'backend' },
      { to: '/connectors', title: 'Connectors', icon: 'connectors' },
    ],
  ],
  [
    'Watch',
    [
      { to: '/activity', title: 'Activity', icon: 'activity' },
      { to: '/stats', title: 'Stats', icon: 'stats' },
      { to: '/audit', title: 'Audit', icon: 'audit', isForAdmins: true },
    ],
  ],
  [
    'Server',
    [
      { to: '/tokens', title: 'Tokens', icon: 'tokens', isForAdmins: true },
      { to: '/system', title: 'System', icon: 'system' },
      { to: '/api', title: 'API', icon: 'api' },
    ],
  ],
];

const SCREENS = MENU.flatMap(([, items]) => items);

/** The frame around all screens: menu, account, and the screen itself. */
export function Shell() {
  const [isOpen, setOpen] = useState(false);
  const isAdmin = useIsAdmin();
  const screens = SCREENS.filter(({ isForAdmins = false }) => isAdmin || !isForAdmins);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="side">
        <Link to="/" className="brand">
          <img src={icon} width={26} height={26} alt="" />
          Tidemark
        </Link>
        <ActionIcon
          className="menu-toggle"
          variant="subtle"
          color="gray"
          aria-label="Menu"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" />
        </ActionIcon>
        <Palette screens={screens} />
        <nav className="nav" aria-label="Screens" data-open={isOpen}>
          {MENU.map(([group, items]) => (
            <MenuGroup key={group} title={group} items={items} onOpen={() => setOpen(false)} />
          ))}
        </nav>
        <Account />
      </header>
      <main className="main" id="main" tabIndex={-1}>
        <ServerGone />
        <Outlet />
      </main>
    </div>
  );
}

interface MenuGroupProps {
  readonly title: string;
  readonly items: readonly MenuItem[];
  readonly onOpen: () => void;
}

function MenuGroup({ title, items, onOpen }: MenuGroupProps) {
  const isAdmin = useIsAdmin();
  return (
    <div>
      {title !== '' && <span className="group">{title}</span>}
      {items
        .filter(({ isForAdmins = false }) => isAdmin || !isForAdmins)
        .map(({ to, title: name, icon: iconName }) => (
          <Link key={to} to={to} activeOptions={{ exact: to === '/' }} onClick={onOpen}>
            <Icon name={iconName} />
            {name}
          </Link>
        ))}
    </div>
  );
}

function Account() {
  const session = useSession().data?.session;
  const isAdmin = useIsAdmin();
  const [error, setError] = useState<unknown>(null);
  // A session that could not be ended is not shown as ended: the cookie would still sign the next person in.
  const signOut = () => client.session.signOut().then(setSession, setError);
  return (
    <div className="account">
      <Dialog title="You are still signed in" isOpen={error !== null} onClose={() => setError(null)}>
        <Failure error={error} onRetry={() => void signOut()} />
      </Dialog>
      <div>
        <Text size="sm" fw={600} truncate>
          {session?.user}
        </Text>
        <Text size="xs" c="dimmed">
          {isAdmin ? 'Administrator' : 'Read only'}
        </Text>
      </div>
      <SchemeToggle />
      <ActionIcon variant="subtle" color="gray" aria-label="Sign out" title="Sign out" onClick={signOut}>
        <Icon name="out" />
      </ActionIcon>
    </div>
  );
}

function SchemeToggle() {
  const scheme = useComputedColorScheme('light');
  const { setColorScheme } = useMantineColorScheme();
  const other = scheme === 'light' ? 'dark' : 'light';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={`Use ${other} colours`}
      title={`Use ${other} colours`}
      onClick={() => setColorScheme(other)}
    >
      <Icon name={other} />
    </ActionIcon>
  );
}
