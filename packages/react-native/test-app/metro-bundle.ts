import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@tidemark/testing';
import { loadConfig, runBuild } from 'metro';
import { onTestFinished } from 'vitest';

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
const runtime = dirname(
  createRequire(createRequire(import.meta.url).resolve('metro')).resolve('metro-runtime/package.json'),
);

export interface MetroApp {
  /** The modules by their file, which are loaded in their order. */
  readonly modules: Readonly<Record<string, string>>;
  /** The packages that the app uses, built. */
  readonly packages: readonly string[];
  /** A folder with `@react-native/babel-preset` in its `node_modules`, which rewrites what Hermes does not know. */
  readonly tools?: string;
}

/** Bundles an app as Metro does in a repository with several packages: the SDK is linked into its node_modules. */
export async function bundleWithMetro({ modules, packages, tools }: MetroApp): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const installed = join(folder.path, 'node_modules');
  await mkdir(join(installed, '@tidemark'), { recursive: true });
  for (const name of packages) {
    const copy = join(folder.path, 'packages', name);
    await cp(join(PACKAGES, name, 'dist'), join(copy, 'dist'), { recursive: true });
    await cp(join(PACKAGES, name, 'package.json'), join(copy, 'package.json'));
    await symlink(copy, join(installed, '@tidemark', name), 'dir');
  }
  for (const [file, code] of Object.entries(modules)) await writeFile(join(folder.path, file), code);
  const main = Object.keys(modules).map((file) => `import './${file}';\n`);
  await writeFile(join(folder.path, 'index.js'), main.join(''));
  await writeFile(join(folder.path, 'package.json'), '{ "name": "app" }');
  if (tools !== undefined) {
    const preset = [join(tools, 'node_modules/@react-native/babel-preset'), { enableBabelRuntime: false }];
    await writeFile(join(folder.path, 'babel.config.js'), `module.exports = { presets: [${JSON.stringify(preset)}] };`);
  }
  const config = await loadConfig(
    { cwd: folder.path },
    {
      projectRoot: folder.path,
      watchFolders: [folder.path, runtime],
      maxWorkers: 1,
      cacheStores: [],
      reporter: { update: () => undefined },
      resolver: {
        useWatchman: false,
        resolverMainFields: ['react-native', 'browser', 'main'],
        extraNodeModules: { 'metro-runtime': runtime },
      },
      transformer: {
        getTransformOptions: async () => ({ transform: { experimentalImportSupport: true, inlineRequires: false } }),
      },
    },
  );
  const out = join(folder.path, 'app.js');
  await runBuild(config, { entry: 'index.js', out, platform: 'android', dev: false, minify: false });
  return readFile(out, 'utf8');
}
