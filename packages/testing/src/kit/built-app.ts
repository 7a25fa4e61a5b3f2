import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Caller } from './caller.ts';
import { startTestServer, type TestServer, testConfig } from './test-server.ts';

const PACKAGES = new URL('../../../', import.meta.url);
const ENTRY = 'app.tsx';

export interface BuiltAppOptions {
  /** The folder in `packages` from which the app resolves its imports. */
  readonly folder: string;
  /** Returns the main module of the app, in TypeScript, given the address of the server. */
  readonly code: (serverUrl: string) => string;
  /** What the body of the page has before the script. */
  readonly body?: string;
  /** Returns the Content Security Policy of the page, given the address of the server. */
  readonly policy?: (serverUrl: string) => string;
}

export interface BuiltApp {
  readonly url: string;
  /** A server that accepts devices from the app. */
  readonly server: TestServer;
  /** Calls the server as the administrator. */
  readonly admin: Caller;
  close(): Promise<void>;
}

/** Builds an app from the sources of the SDK with Vite, and serves it, together with a server for its devices. */
export async function startBuiltApp({ folder, code, body = '', policy }: BuiltAppOptions): Promise<BuiltApp> {
  const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>App</title><link rel="icon" href="data:,">${body}<script type="module" src="/app.js"></script>`;
  let files: ReadonlyMap<string, string> = new Map();
  let headers = {};
  const app = createServer(({ url = '' }, response) => {
    const script = files.get(new URL(url, 'http://localhost').pathname);
    const type = script === undefined ? 'text/html' : 'text/javascript';
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8`, ...headers }).end(script ?? page);
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const url = `http://localhost:${(app.address() as AddressInfo).port}`;
  const { devices } = testConfig('');
  const server = await startTestServer({ devices: { ...devices, origins: [url] } });
  const admin = new Caller(server.url, server.token);
  files = await build(folder, code(server.url));
  if (policy !== undefined) headers = { 'content-security-policy': policy(server.url) };
  const close = async () => {
    admin.close();
    await server.close();
    app.closeAllConnections();
    await new Promise((resolve) => app.close(resolve));
  };
  return { url, server, admin, close };
}

/** Returns the files of the app by their path. The mode is React's for development, which checks the most. */
async function build(folder: string, code: string): Promise<ReadonlyMap<string, string>> {
  const vite = await import('vite');
  const path = (relative: string) => fileURLToPath(new URL(relative, PACKAGES));
  const result = await vite.build({
    root: path(folder),
    configFile: false,
    logLevel: 'warn',
    mode: 'development',
    resolve: {
      alias: [
        { find: '@tidemark/client/indexeddb-store', replacement: path('client/src/stores/indexeddb-store.ts') },
        { find: /^@tidemark\/(client|react|react-native|devtools|protocol)$/, replacement: path('$1/src/index.ts') },
      ],
    },
    plugins: [
      {
        name: 'app',
        resolveId: (id) => (id === ENTRY ? path(`${folder}/src/${ENTRY}`) : undefined),
        load: (id) => (id.endsWith(`/src/${ENTRY}`) ? code : undefined),
      },
    ],
    define: { 'process.env.NODE_ENV': '"development"' },
    build: {
      write: false,
      minify: false,
      rolldownOptions: { input: ENTRY, output: { entryFileNames: 'app.js', chunkFileNames: '[name].js' } },
    },
  });
  const [{ output }] = (Array.isArray(result) ? result : [result]) as [
    { readonly output: readonly { readonly fileName: string; readonly code?: string }[] },
  ];
  return new Map(output.map(({ fileName, code: text = '' }) => [`/${fileName}`, text]));
}
