import { ActionIcon, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { Link, Outlet } from '@tanstack/react-router';
import { client } from '../api/client.ts';
import { setSession, useIsAdmin, useSession } from '../api/session.ts';
import icon from '../icon.svg';
import { Icon, type IconName } from './icons.tsx';

interface MenuItem {
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
}

const MENU: readonly MenuItem[] = [
  { to: '/', title: 'Overview', icon: 'overview' },
  { to: '/sources', title: 'Sources', icon: 'sources' },
  { to: '/users', title: 'Users', icon: 'users' },
  { to: '/jobs', title: 'Jobs', icon: 'jobs' },
  { to: '/tokens', title: 'Tokens', icon: 'tokens' },
  { to: '/audit', title: 'Audit', icon: 'audit' },
  { to: '/system', title: 'System', icon: 'system' },
];
/** Only administrators may read these. */
const FOR_ADMINS: ReadonlySet<string> = new Set(['/tokens', '/audit']);

/** The frame around all screens: menu, account, and the screen itself. */
export function Shell() {
  const isAdmin = useIsAdmin();
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
        <nav className="nav" aria-label="Screens">
          {MENU.filter(({ to }) => isAdmin || !FOR_ADMINS.has(to)).map(({ to, title, icon: name }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/' }}>
              <Icon name={name} />
              {title}
            </Link>
          ))}
        </nav>
        <Account />
      </header>
      <main className="main" id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}

function Account() {
  const session = useSession().data?.session;
  const isAdmin = useIsAdmin();
  const signOut = () => client.session.signOut().then(setSession, () => setSession({ session: null }));
  return (
    <div className="account">
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
