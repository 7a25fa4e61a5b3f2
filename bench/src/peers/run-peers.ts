import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, platform } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { durableStreamsPeer } from './durable-streams-peer.ts';
import { measurePeers } from './measure-peers.ts';
import { pageOf } from './page.ts';
import type { Peer } from './peer.ts';
import { installPeers } from './peer-process.ts';
import { pouchdbPeer } from './pouchdb-peer.ts';
import { rxdbPeer } from './rxdb-peer.ts';
import { tidemarkPeer } from './tidemark-peer.ts';

const HELP = `Examples
  npm run bench -- peers                        Tidemark beside the servers that npm has
  npm run bench -- peers --objects 20000        a smaller data set than 100,000
  npm run bench -- peers --write docs/explanation/peers.md
                                                writes the page of the documentation
  npm run bench -- peers --json                 for machines

All servers run on this machine at the same time and are measured in turns. Times are CPU time of the server.
It needs Linux, which counts the CPU time of a process in nanoseconds.
`;

const OBJECTS_DEFAULT = '100000';
const OBJECTS_MIN = 2_000;

const OPTIONS = {
  objects: { type: 'string', default: OBJECTS_DEFAULT },
  write: { type: 'string' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Measures Tidemark beside other servers. Returns the exit code. */
export async function runPeers(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const objects = Number(values.objects);
  if (!Number.isInteger(objects) || objects < OBJECTS_MIN) {
    process.stderr.write(`--objects must be a whole number from ${OBJECTS_MIN}\n`);
    return 2;
  }
  if (platform() !== 'linux') {
    process.stderr.write('npm run bench -- peers reads the CPU time of the servers from /proc, which only Linux has\n');
    return 2;
  }
  await installPeers();
  const peers: Peer[] = [];
  try {
    for (const start of [tidemarkPeer, pouchdbPeer, rxdbPeer, durableStreamsPeer]) peers.push(await start());
    const rows = await measurePeers(peers, objects, (line) => process.stderr.write(`${line}\n`));
    const machine = `${cpus().length} cores, ${arch()}, Node.js ${process.versions.node}`;
    const day = new Date().toISOString().slice(0, 10);
    const result = { day, machine, objects, peers: peers.map(described), rows };
    const page = pageOf(result);
    process.stdout.write(values.json ? `${JSON.stringify(result, null, 2)}\n` : page);
    if (values.write !== undefined) {
      mkdirSync(dirname(resolve(values.write)), { recursive: true });
      writeFileSync(values.write, page);
    }
    return 0;
  } finally {
    for (const peer of peers) await peer.stop();
  }
}

function described({ name, setUp, durability }: Peer) {
  return { name, setUp, durability };
}
