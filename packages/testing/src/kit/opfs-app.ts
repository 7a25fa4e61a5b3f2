import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { SdkApp } from './sdk-app.ts';

const PACKAGES = new URL('../../../', import.meta.url);
const ENTRY = 'opfs-app.js';

/** Bundles an app with Vite as the guide says, and returns its files by their path. */
async function build(code: string): Promise<ReadonlyMap<string, string | Uint8Array>> {
  const vite = await import('vite');
  const path = (relative: string) => fileURLToPath(new URL(relative, PACKAGES));
  const result = await vite.build({
    root: path('sqlite'),
    configFile: false,
    logLevel: 'error',
    resolve: {
      alias: [
        { find: /^\/(worker|worker-calls)\.js/, replacement: path('sqlite/dist/opfs/$1.js') },
        { find: '@tidemark/sqlite/opfs', replacement: path('sqlite/dist/opfs/open-opfs-store.js') },
        { find: /^@tidemark\/(client|protocol)$/, replacement: path('$1/dist/index.js') },
      ],
    },
    plugins: [
      {
        name: 'app',
        resolveId: (id) => (id === ENTRY ? path(`sqlite/src/${ENTRY}`) : undefined),
        load: (id) => (id.endsWith(`/src/${ENTRY}`) ? code : undefined),
      },
    ],
    worker: { format: 'es' },
    build: {
      ...{ write: false, minify: false, target: 'esnext' },
      rolldownOptions: { input: ENTRY, output: { entryFileNames: 'app.js' } },
    },
  });
  const [{ output }] = (Array.isArray(result) ? result : [result]) as [
    {
      readonly output: readonly {
        readonly fileName: string;
        readonly code?: string;
        readonly source?: string | Uint8Array;
      }[];
    },
  ];
  return new Map(output.map(({ fileName, code, source = '' }) => [`/${fileName}`, code ?? source]));
}

const TYPES: Readonly<Record<string, string>> = { js: 'text/javascript', wasm: 'application/wasm' };
const PAGE = `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><script type="module" src="/app.js"></script>`;

/**
 * Starts an app that Vite has bundled from this code, which may import the SDK, `@tidemark/sqlite/opfs`, and the files of its worker as
 * `/worker.js` and `/worker-calls.js`.
 */
export async function startOpfsApp(code: string): Promise<SdkApp> {
  const files = await build(code);
  const http = createServer(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://localhost');
    const type = TYPES[pathname.split('.').at(-1) ?? ''] ?? 'text/html';
    response.writeHead(200, { 'content-type': type }).end(files.get(pathname) ?? PAGE);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${(http.address() as AddressInfo).port}`,
    close: async () => {
      http.closeAllConnections();
      http.close();
    },
  };
}
