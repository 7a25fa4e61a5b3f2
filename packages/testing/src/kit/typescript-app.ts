import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const MODULES = fileURLToPath(new URL('../../../../node_modules', import.meta.url));
/** What apps may import. */
const PACKAGES = ['@tidemark', '@tanstack', '@types', 'react', 'zod'];

/** An app in a folder of its own, which sees what is installed, and nothing of the configuration of this repository. */
export interface TypescriptApp extends TemporaryFolder {
  /** Writes files by their names. */
  write(files: Readonly<Record<string, string>>): void;
  /** Returns where the compiler finds errors in the app, each place once as `file.ts(line)`, and all that it says. */
  compile(): { readonly places: readonly string[]; readonly output: string };
}

/** Makes an app that is compiled strictly, with these options besides. */
export async function newTypescriptApp(options: object): Promise<TypescriptApp> {
  const folder = await temporaryFolder();
  mkdirSync(join(folder.path, 'node_modules'));
  for (const name of PACKAGES) symlinkSync(join(MODULES, name), join(folder.path, 'node_modules', name));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'dom'],
    types: [],
    // The types of others are not checked: those of TanStack DB do not compile with the strictest settings.
    skipLibCheck: true,
    ...options,
  };
  writeFileSync(join(folder.path, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', '*.tsx'] }));
  return {
    ...folder,
    write(files) {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
    },
    compile() {
      const compiler = join(MODULES, '.bin/tsc');
      const { stdout: output } = spawnSync(compiler, ['-p', '.'], { cwd: folder.path, encoding: 'utf8' });
      const places = [...output.matchAll(/^(\S+\(\d+),\d+\): error/gm)].map(([, place]) => `${place})`);
      return { places: [...new Set(places)].sort(), output };
    },
  };
}
