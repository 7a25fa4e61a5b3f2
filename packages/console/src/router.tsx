import { createRootRoute, createRoute, createRouter, type RouteComponent } from '@tanstack/react-router';
import { Empty } from './components/command.tsx';
import { Shell } from './components/shell.tsx';
import { Audit } from './screens/audit.tsx';
import { Device } from './screens/device.tsx';
import { Jobs, Queue } from './screens/jobs.tsx';
import { Overview } from './screens/overview.tsx';
import { Source } from './screens/source.tsx';
import { Sources } from './screens/sources.tsx';
import { System } from './screens/system.tsx';
import { Tokens } from './screens/tokens.tsx';
import { User } from './screens/user.tsx';
import { Users } from './screens/users.tsx';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** Every screen has an address of its own. */
const SCREENS: Readonly<Record<string, RouteComponent>> = {
  '/': Overview,
  '/sources': Sources,
  '/sources/$name': Source,
  '/users': Users,
  '/users/$login': User,
  '/devices/$id': Device,
  '/jobs': Jobs,
  '/jobs/$queue': Queue,
  '/tokens': Tokens,
  '/audit': Audit,
  '/system': System,
};

const screens = Object.entries(SCREENS).map(([path, component]) =>
  createRoute({ getParentRoute: () => root, path, component }),
);

export const router = createRouter({ routeTree: root.addChildren(screens), basepath: '/console' });

function NotFound() {
  return <Empty title="There is no such screen">The menu leads to all screens of the console.</Empty>;
}
