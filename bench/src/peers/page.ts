import type { PeerRow } from './measure-peers.ts';

export interface PeerResult {
  readonly day: string;
  readonly machine: string;
  readonly objects: number;
  readonly peers: readonly { readonly name: string; readonly setUp: string; readonly durability: string }[];
  readonly rows: readonly PeerRow[];
}

/** The page of the documentation, in Markdown. */
export function pageOf({ day, machine, objects, peers, rows }: PeerResult): string {
  const names = peers.map(({ name }) => name);
  return `# Measured beside other servers

This page is written by \`npm run bench -- peers --write docs/explanation/peers.md\`, which installs servers that
npm has and that start without Docker, fills them with the same ${objects.toLocaleString('en')} objects, and measures them in turns on the same
machine. Run it yourself: on another machine the times differ, and values that are close may change places.

It was run on ${day} (${machine}). Times are CPU time of the server process. Syncs are medians of
three rounds; writing and memory are measured once. Answers are not compressed. The best value of a row is bold.

${table([
  ['Server', 'Version and set-up', 'A write that was answered'],
  ...peers.map((peer) => [peer.name, peer.setUp, peer.durability]),
])}

${table([['', '', ...names], ...rows.map((row) => [row.what, row.unit, ...valuesOf(row)])])}

## What the numbers do not say

- The servers promise different things. Tidemark and Durable Streams flush every write to the disk before they answer, PouchDB
  leaves that to the operating system, and RxDB's free storage for Node.js keeps everything in memory.
- ${lossesOf(names, rows)}
- Durable Streams is a log, not a store of objects: a new device reads every change that was ever made, with those of objects
  that are deleted. PouchDB and RxDB deliver deletions to new devices, too.
- A replication with PouchDB makes more requests than the one that is measured here, which reads changes with their documents.
- Devices are not measured: what a device does with the answer depends on its SDK.
`;
}

/** Says where Tidemark is not the best. */
function lossesOf(names: readonly string[], rows: readonly PeerRow[]): string {
  const lost = rows.filter(({ values }) => Math.min(...values) < (values[0] ?? 0));
  if (lost.length === 0) return 'In this run, no other server had a better value in any row.';
  const words = lost.map(({ what, unit, values }) => {
    const best = Math.min(...values);
    return `${what} (${unit}): ${names[values.indexOf(best)]} ${shown(best)}, Tidemark ${shown(values[0] ?? 0)}`;
  });
  return `Tidemark is not the best in:\n${words.map((word) => `  - ${word}`).join('\n')}`;
}

function valuesOf({ values }: PeerRow): readonly string[] {
  const best = Math.min(...values);
  return values.map((value) => (value === best ? `**${shown(value)}**` : shown(value)));
}

function shown(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function table([header = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
