/** Returns what `tidemark init --template web` writes: path → text. The app shows the notes of whoever signs in. */
export function webFiles(dependencies: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map([
    ['package.json', packageFile(dependencies)],
    ['tidemark.config.json', CONFIG],
    ['.gitignore', 'node_modules\ndata\ndist\n'],
    ['README.md', README],
    ['dev.mjs', DEV],
    ['index.html', PAGE],
    ['vite.config.js', VITE],
    ['src/main.tsx', MAIN],
    ['src/app.tsx', APP],
    ['src/error-boundary.tsx', BOUNDARY],
    ['src/style.css', STYLE],
  ]);
}

/** What the app needs besides Tidemark. A test compares the versions with those that Tidemark itself is built with. */
export const WEB_DEPENDENCIES = {
  react: '^19.3.1',
  'react-dom': '^19.3.1',
} as const;

export const WEB_DEV_DEPENDENCIES = {
  '@types/react': '^19.3.0',
  '@types/react-dom': '^19.3.0',
  '@vitejs/plugin-react': '^6.3.0',
  vite: '^8.3.8',
} as const;

function packageFile(dependencies: Readonly<Record<string, string>>): string {
  const file = {
    name: 'my-tidemark-web-app',
    private: true,
    type: 'module',
    scripts: { dev: 'node dev.mjs', build: 'vite build', start: 'tidemark serve' },
    dependencies: { ...dependencies, ...WEB_DEPENDENCIES },
    devDependencies: WEB_DEV_DEPENDENCIES,
  };
  return `${JSON.stringify(file, null, 2)}\n`;
}

const CONFIG = `{
  "data": "./data",
  // The pages whose scripts may use the server, with scheme and port.
  "devices": { "origins": ["http://localhost:5173"] },
  "sources": [
    // Each user has notes of their own. "partition_type": "app" is for data that all users share, "group" for teams.
    { "name": "Note", "partition_type": "user" }
  ],
}
`;

const README = `# A web app with Tidemark

    npm install
    npm run dev      # the server and the app; it prints where they are and how to sign in
    npm run build    # the app as static files in dist

- src/app.tsx is the app: it reads and writes on the device, with and without a network.
- tidemark.config.json declares the sources, and lists the origins of pages that may use the server.
- dev.mjs starts both for development. In production, npm start runs the server with TIDEMARK_ADMIN_PASSWORD set, and any
  web server serves dist; VITE_TIDEMARK_URL names the address of the Tidemark server when you build.

The server shows its documentation at http://127.0.0.1:9292/docs/ and its console at http://127.0.0.1:9292/console/.
`;

const DEV = `// Starts Tidemark and Vite for development. Both end with this process, and this process ends with its parent.
import { fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { TidemarkClient } from '@tidemark/backend';
import { endWithParent } from '@tidemark/cli/end-with-parent';
import { createServer } from 'vite';

// The server listens on this machine only. Somewhere else, choose passwords of your own.
const password = (process.env.TIDEMARK_ADMIN_PASSWORD ??= 'only-for-development');
const user = { login: 'ada', password: 'lovelace-1815' };

endWithParent(() => process.exit());

const program = new URL('./node_modules/@tidemark/cli/bin/tidemark.mjs', import.meta.url);
const tidemark = fork(program, ['serve'], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
tidemark.once('exit', (code) => process.exit(code ?? 1));

const url = await new Promise((resolve) => {
  createInterface({ input: tidemark.stdout }).on('line', (line) => {
    console.log(line);
    const [found] = /http:\\S+/.exec(line) ?? [];
    if (found !== undefined) resolve(found);
  });
});

const admin = await TidemarkClient.logIn({ url, login: 'admin', password });
await admin.users.create(user).catch((error) => {
  if (error.code !== 'user_exists') throw error;
});

process.env.VITE_TIDEMARK_URL ??= url;
const vite = await createServer({ server: { port: Number(process.env.PORT ?? 5173), strictPort: true } });
await vite.listen();
console.log('The app is at ' + vite.resolvedUrls.local[0] + ' (sign in as ' + user.login + ' with ' + user.password + ')');
console.log('The password of admin in the console is ' + password);
`;

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <title>Notes</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/src/main.tsx"></script>
  </body>
</html>
`;

const VITE = `import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({ plugins: [react()] });
`;

const MAIN = `import { openDevice } from '@tidemark/client';
import { openIndexedDbStore } from '@tidemark/client/indexeddb-store';
import { TidemarkProvider } from '@tidemark/react';
import { StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import './style.css';

const url = import.meta.env.VITE_TIDEMARK_URL ?? 'http://127.0.0.1:9292';

// Once, outside of components: a device belongs to the app, not to a component.
const device = openIndexedDbStore().then((store) => openDevice({ url, store }));

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <ErrorBoundary>
      <Suspense fallback="Opening…">
        <TidemarkProvider device={device}>
          <App />
        </TidemarkProvider>
      </Suspense>
    </ErrorBoundary>
  </StrictMode>,
);
`;

const APP = `import { useMutation, useQuery, useSyncStatus } from '@tidemark/react';

interface Note {
  text: string;
  done: boolean;
  at: string;
}

export function App() {
  const { userId } = useSyncStatus();
  return (
    <main>
      <h1>Notes</h1>
      {userId === null ? <SignIn /> : <Notes />}
      <Status />
    </main>
  );
}

function SignIn() {
  const signIn = useMutation((device, form: FormData) =>
    device.signIn({ login: String(form.get('login')), password: String(form.get('password')) }),
  );
  return (
    <form action={signIn.mutate}>
      <input name="login" aria-label="Login" placeholder="Login" autoComplete="username" />
      <input name="password" aria-label="Password" placeholder="Password" type="password" autoComplete="current-password" />
      <button disabled={signIn.isPending}>Sign in</button>
      {signIn.error && <p role="alert">{signIn.error.message}</p>}
    </form>
  );
}

function Notes() {
  const notes = useQuery<Note>('Note', { orderBy: { at: 'asc' } });
  const add = useMutation((device, form: FormData) =>
    device.source<Note>('Note').create({ text: String(form.get('text')), done: false, at: new Date().toISOString() }),
  );
  const toggle = useMutation((device, note: { id: string; done: boolean }) =>
    device.source<Note>('Note').update(note.id, { done: note.done }),
  );
  return (
    <>
      <form action={add.mutate}>
        <input name="text" aria-label="New note" placeholder="A new note" required />
        <button>Add</button>
      </form>
      <ul>
        {notes.map(({ id, attributes, isPending }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={attributes.done}
                onChange={(event) => toggle.mutate({ id, done: event.target.checked })}
              />
              {attributes.text}
            </label>
            {isPending && <small> not sent yet</small>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Status() {
  const { isOnline, isLive, userId, error } = useSyncStatus();
  const signOut = useMutation((device) => device.signOut());
  return (
    <footer>
      <span role="status">{isOnline ? (isLive ? 'live' : 'online') : 'offline'}</span>
      {userId !== null && <button onClick={() => signOut.mutate()}>Sign out {userId}</button>}
      {error && userId !== null && <p role="alert">{error.detail}</p>}
    </footer>
  );
}
`;

const BOUNDARY = `import { Component, type ReactNode } from 'react';

/** Shows what went wrong when the device could not be opened, for example because the browser blocks storage. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main role="alert">
        <h1>The app could not start</h1>
        <p>{error.message}</p>
        <p>Private windows and strict settings may block storage. Allow it for this site, or use another window.</p>
        <button onClick={() => location.reload()}>Try again</button>
      </main>
    );
  }
}
`;

const STYLE = `:root {
  color-scheme: light dark;
  font: 16px/1.5 system-ui, sans-serif;
}
main {
  max-width: 32rem;
  margin: 3rem auto;
  padding: 0 1rem;
}
form {
  display: flex;
  flex-wrap: wrap;
  gap: 0.5rem;
}
input:not([type='checkbox']) {
  flex: 1 1 10rem;
}
input,
button {
  font: inherit;
  padding: 0.4rem 0.6rem;
}
ul {
  list-style: none;
  padding: 0;
}
footer {
  display: flex;
  gap: 1rem;
  align-items: center;
  margin-top: 2rem;
}
`;
