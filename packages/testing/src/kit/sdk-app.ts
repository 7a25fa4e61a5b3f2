import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

/** An app without a build step: a page with an import map, and the modules as npm installs them. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>App</title><link rel="icon" href="data:,">
<script type="importmap">${JSON.stringify({
  imports: {
    '@tidemark/client': '/client/index.js',
    '@tidemark/client/indexeddb-store': '/client/stores/indexeddb-store.js',
    '@tidemark/protocol': '/protocol/index.js',
  },
})}</script>`;
const PACKAGES = new URL('../../../', import.meta.url);

export interface SdkApp {
  readonly url: string;
  close(): Promise<void>;
}

interface SdkAppOptions {
  /** Scripts that are served under their path, besides the SDK. */
  readonly scripts?: Readonly<Record<string, () => Promise<string>>>;
  /** Whether the SDK comes as the files that npm installs, more than a hundred for each tab, instead of a few bundled ones. */
  readonly isUnbundled?: boolean;
}

/** Serves an empty page that can import the built SDK. */
export async function startSdkApp({ scripts = {}, isUnbundled = false }: SdkAppOptions = {}): Promise<SdkApp> {
  const bundled = isUnbundled ? null : await bundle();
  const app = createServer(async ({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const script = (await scripts[url]?.()) ?? bundled?.get(pathname) ?? (await installed(pathname));
    const type = script === undefined ? 'text/html' : 'text/javascript';
    response.writeHead(200, { 'content-type': type }).end(script ?? PAGE);
  });
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(app.address() as AddressInfo).port}`,
    close: async () => {
      app.closeAllConnections();
      await new Promise((resolve) => app.close(resolve));
    },
  };
}

/** Returns a module as npm installs it. */
async function installed(pathname: string): Promise<string | undefined> {
  const [, name, path] = /^\/(client|protocol)\/([\w/.-]+\.js)$/.exec(pathname) ?? [];
  if (name === undefined || path === undefined) return undefined;
  return readFile(fileURLToPath(new URL(`${name}/dist/${path}`, PACKAGES)), 'utf8');
}

/** The modules that pages import by their path; all others are in files that these share. */
const ENTRIES = ['client/index', 'client/stores/indexeddb-store', 'client/engine/network', 'protocol/index'];

let made: Promise<ReadonlyMap<string, string>> | null = null;

function bundle(): Promise<ReadonlyMap<string, string>> {
  made ??= makeBundle();
  return made;
}

/** Returns the built SDK in a few files, by their path. */
async function makeBundle(): Promise<ReadonlyMap<string, string>> {
  const vite = await import('vite');
  const input = ENTRIES.map((entry) => {
    return [entry, fileURLToPath(new URL(`${entry.replace('/', '/dist/')}.js`, PACKAGES))] as const;
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: 'shared/[name].js' };
  const result = await vite.build({
    configFile: false,
    logLevel: 'warn',
    resolve: { alias: { '@tidemark/protocol': fileURLToPath(new URL('protocol/dist/index.js', PACKAGES)) } },
    build: {
      ...{ write: false, minify: false, target: 'esnext', modulePreload: false },
      rolldownOptions: { input: Object.fromEntries(input), output: names, preserveEntrySignatures: 'strict' },
    },
  });
  const [{ output }] = (Array.isArray(result) ? result : [result]) as [
    { readonly output: readonly { readonly fileName: string; readonly code?: string }[] },
  ];
  return new Map(output.map(({ fileName, code = '' }) => [`/${fileName}`, code]));
}
