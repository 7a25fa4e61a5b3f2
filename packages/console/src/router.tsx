import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouteComponent,
} from '@tanstack/react-router';
import { Empty } from './components/command.tsx';
import { Shell } from './components/shell.tsx';
import { Overview } from './screens/overview.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** Every screen has an address of its own. Screens beyond the first are loaded when they are opened. */
const SCREENS: Readonly<Record<string, RouteComponent>> = {
  '/': Overview,
  '/sources': lazyRouteComponent(() => import('./screens/sources.tsx'), 'Sources'),
  '/sources/$name': lazyRouteComponent(() => import('./screens/source.tsx'), 'Source'),
  '/users': lazyRouteComponent(() => import('./screens/users.tsx'), 'Users'),
  '/users/$login': lazyRouteComponent(() => import('./screens/user.tsx'), 'User'),
  '/devices/$id': lazyRouteComponent(() => import('./screens/device.tsx'), 'Device'),
  '/jobs': lazyRouteComponent(() => import('./screens/jobs.tsx'), 'Jobs'),
  '/jobs/$queue': lazyRouteComponent(() => import('./screens/jobs.tsx'), 'Queue'),
  '/pings': lazyRouteComponent(() => import('./screens/pings.tsx'), 'Pings'),
  '/pings/$id': lazyRouteComponent(() => import('./screens/pings.tsx'), 'PingResults'),
  '/activity': lazyRouteComponent(() => import('./screens/activity.tsx'), 'Activity'),
  '/tokens': lazyRouteComponent(() => import('./screens/tokens.tsx'), 'Tokens'),
  '/audit': lazyRouteComponent(() => import('./screens/audit.tsx'), 'Audit'),
  '/system': lazyRouteComponent(() => import('./screens/system.tsx'), 'System'),
};

const screens = Object.entries(SCREENS).map(([path, component]) =>
  createRoute({ getParentRoute: () => root, path, component }),
);

export const router = createRouter({
  routeTree: root.addChildren(screens),
  basepath: '/console',
  defaultPreload: 'intent',
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
