import { describe, expect, it } from 'vitest';
import { judge, type ServerSetup, unfitness } from './durability.ts';

const SAFE: ServerSetup = {
  version: '8.0.1',
  isInCluster: false,
  appendOnly: true,
  appendFsync: 'always',
  replicas: 1,
  minReplicasToWrite: 1,
  memoryBytesMax: 1_000,
  evictionPolicy: 'noeviction',
};

describe('how servers are judged', () => {
  it('[VALKEY-2] too old ones, and parts of a cluster that nobody spoke of, are unfit', () => {
    expect(unfitness([SAFE], false)).toBeNull();
    expect(unfitness([SAFE, { ...SAFE, version: '6.2.14' }], true)).toMatch(/version 6.2.14, and 7.0 or newer/);
    expect(unfitness([{ ...SAFE, isInCluster: true }], false)).toMatch(/part of a cluster/);
    expect(unfitness([{ ...SAFE, isInCluster: true }], true)).toBeNull();
  });

  it('[VALKEY-6] all of them must flush before they acknowledge, and none may evict', () => {
    expect(judge([SAFE, SAFE], 0)).toMatchObject({ isDurable: true, warnings: [], details: { servers: 2 } });
    const worse: readonly Partial<ServerSetup>[] = [
      { appendOnly: false },
      { appendOnly: null },
      { appendFsync: 'everysec' },
      { appendFsync: null },
      { evictionPolicy: 'allkeys-lru' },
      { evictionPolicy: null },
    ];
    for (const flaw of worse) {
      const { isDurable, warnings } = judge([SAFE, { ...SAFE, ...flaw }], 0);
      expect([isDurable, warnings.length]).toEqual([false, 1]);
    }
  });

  it('[VALKEY-6] where they differ, all values are told', () => {
    const { details } = judge([SAFE, { ...SAFE, appendFsync: 'everysec', replicas: null }], 2);
    expect(details).toMatchObject({ appendfsync: 'always, everysec', replicas: '1, unknown', confirm_replicas: 2 });
  });
});
