import { createRootRoute, createRoute, createRouter, type RouteComponent } from '@tanstack/react-router';
import { Empty } from './components/command.tsx';
import { lazyScreen } from './components/lazy-screen.tsx';
import { Shell } from './components/shell.tsx';
import { Overview } from './screens/overview.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** Every screen has an address of its own. Screens beyond the first are loaded when they are opened. */
const SCREENS: Readonly<Record<string, RouteComponent>> = {
  '/': Overview,
  '/sources': lazyScreen(async () => (await import('./screens/sources.tsx')).Sources),
  '/sources/$name': lazyScreen(async () => (await import('./screens/source.tsx')).Source),
  '/data': lazyScreen(async () => (await import('./screens/data.tsx')).Data),
  '/users': lazyScreen(async () => (await import('./screens/users.tsx')).Users),
  '/users/$login': lazyScreen(async () => (await import('./screens/user.tsx')).User),
  '/groups': lazyScreen(async () => (await import('./screens/groups.tsx')).Groups),
  '/groups/$group': lazyScreen(async () => (await import('./screens/groups.tsx')).Group),
  '/devices': lazyScreen(async () => (await import('./screens/devices.tsx')).Devices),
  '/devices/$id': lazyScreen(async () => (await import('./screens/device.tsx')).Device),
  '/files': lazyScreen(async () => (await import('./screens/files.tsx')).Files),
  '/files/$sha256': lazyScreen(async () => (await import('./screens/file.tsx')).File),
  '/jobs': lazyScreen(async () => (await import('./screens/jobs.tsx')).Jobs),
  '/jobs/$queue': lazyScreen(async () => (await import('./screens/jobs.tsx')).Queue),
  '/pings': lazyScreen(async () => (await import('./screens/pings.tsx')).Pings),
  '/pings/$id': lazyScreen(async () => (await import('./screens/pings.tsx')).PingResults),
  '/connectors': lazyScreen(async () => (await import('./screens/connectors.tsx')).Connectors),
  '/connectors/$name': lazyScreen(async () => (await import('./screens/connectors.tsx')).Connector),
  '/backend': lazyScreen(async () => (await import('./screens/backend.tsx')).Backend),
  '/stats': lazyScreen(async () => (await import('./screens/stats.tsx')).Stats),
  '/api': lazyScreen(async () => (await import('./screens/api.tsx')).Api),
  '/activity': lazyScreen(async () => (await import('./screens/activity.tsx')).Activity),
  '/tokens': lazyScreen(async () => (await import('./screens/tokens.tsx')).Tokens),
  '/audit': lazyScreen(async () => (await import('./screens/audit.tsx')).Audit),
  '/system': lazyScreen(async () => (await import('./screens/system.tsx')).System),
};

const screens = Object.entries(SCREENS).map(([path, component]) =>
  createRoute({ getParentRoute: () => root, path, component }),
);

export const router = createRouter({
  routeTree: root.addChildren(screens),
  basepath: '/console',
  // Names such as 017 or true stay texts.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (search) => {
    const parameters = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
    const text = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString();
    return text === '' ? '' : `?${text}`;
  },
});

function NotFound() {
  return <Empty title="There is no such screen">The menu leads to all screens of the console.</Empty>;
}
