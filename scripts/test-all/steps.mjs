/**
 * What `npm run test:all` runs, in this order. A step with `finds` runs with a planted bug, and passes if the run finds it.
 */
export const STEPS = [
  { name: 'everyday', command: ['npm', 'test'] },
  { name: 'long', command: ['npm', 'run', 'test:long'] },
  ...['memory', 'embedded', 'valkey', 'valkey-cluster'].map((engine) => ({
    name: `histories-${engine}`,
    command: sim('histories', '--histories', '5000', '--engine', engine),
  })),
  { name: 'groups', command: sim('groups', '--histories', '5000') },
  { name: 'groups-embedded', command: sim('groups', '--histories', '1000', '--engine', 'embedded') },
  { name: 'uploads', command: sim('uploads', '--histories', '5000') },
  { name: 'sdk', command: sim('sdk', '--histories', '2000') },
  { name: 'postgres', command: sim('postgres', '--histories', '500') },
  ...['17', '18'].map((major) => ({
    name: `postgres-${major}`,
    command: ['node', 'scripts/postgres-versions.mjs', major],
  })),
  { name: 'http', command: sim('http', '--histories', '50') },
  { name: 'crash', command: sim('crash', '--rounds', '500') },
  { name: 'crash-jobs', command: sim('crash:jobs', '--rounds', '300') },
  { name: 'crash-uploads', command: sim('crash:uploads', '--kills', '50') },
  ...[
    'embedded',
    'valkey',
    'valkey-sentinel',
    'valkey-cluster',
    'valkey-sentinel-lossy',
    'valkey-cluster-lossy',
  ].flatMap((store) => [
    { name: `chaos-${store}`, command: sim('chaos', '--minutes', '10', '--engine', store) },
    { name: `servers-${store}`, command: sim('servers', '--rounds', '5', '--servers', '3', '--store', store) },
  ]),
  ...['ack-before-commit', 'token-before-delivery', 'revoked-group', 'torn-batch'].map((plant) => ({
    name: `planted-${plant}`,
    command: sim('chaos', '--minutes', '10', '--plant', plant),
    finds: plant,
  })),
  {
    name: 'planted-late-write',
    command: sim('chaos', '--minutes', '10', '--plant', 'late-write', '--engine', 'valkey', '--faults', 'stall_store'),
    finds: 'late-write',
  },
  {
    name: 'planted-ignored-lease',
    command: sim('servers', '--rounds', '20', '--plant', 'ignored-lease'),
    finds: 'ignored-lease',
  },
  { name: 'torn-sockets', command: sim('torn-sockets', '--minutes', '10') },
  { name: 'torn-sockets-valkey', command: sim('torn-sockets', '--minutes', '10', '--store', 'valkey') },
  { name: 'tabs', command: ['node', 'scripts/tabs.mjs'] },
  { name: 'flushes', command: ['node', 'scripts/flushes.mjs'] },
  { name: 'reproducible', command: ['node', 'scripts/reproducible.mjs'] },
];

function sim(...args) {
  return ['npm', 'run', 'sim', '--', ...args];
}
