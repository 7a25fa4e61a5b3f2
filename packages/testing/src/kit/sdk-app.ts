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

/** Serves an empty page that can import the built SDK. `scripts` are served under their path. */
export async function startSdkApp(scripts: Readonly<Record<string, () => Promise<string>>> = {}): Promise<SdkApp> {
  const app = createServer(async ({ url = '' }, response) => {
    const [, name, path] = /^\/(client|protocol)\/([\w/.-]+\.js)(?:\?|$)/.exec(url) ?? [];
    const script =
      name === undefined || path === undefined
        ? await scripts[url]?.()
        : await readFile(fileURLToPath(new URL(`${name}/dist/${path}`, PACKAGES)), 'utf8');
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
