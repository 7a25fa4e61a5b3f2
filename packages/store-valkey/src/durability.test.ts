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
  timeMs: 0,
  hasWaitAof: true,
};

const ALONE = { isClusterAddress: false, isConfirmedOnDisk: false };
const IN_CLUSTER = { ...ALONE, isClusterAddress: true };
const MEMORY = { replicas: 0, isOnDisk: false };

describe('how servers are judged', () => {
  it('[VALKEY-2] too old ones, and parts of a cluster that nobody spoke of, are unfit', () => {
    expect(unfitness([SAFE], ALONE)).toBeNull();
    expect(unfitness([SAFE, { ...SAFE, version: '6.2.14' }], IN_CLUSTER)).toMatch(/version 6.2.14, and 7.0 or newer/);
    expect(unfitness([{ ...SAFE, isInCluster: true }], ALONE)).toMatch(/part of a cluster/);
    expect(unfitness([{ ...SAFE, isInCluster: true }], IN_CLUSTER)).toBeNull();
  });

  it('[VALKEY-28] servers whose clocks are more than a minute apart are warned of, and used', () => {
    const at = (timeMs: number | null) => ({ ...SAFE, timeMs });
    expect(judge([at(0), at(60_000), at(null)], MEMORY).warnings).toEqual([]);
    const { isDurable, warnings } = judge([at(5_000), at(0), at(900_000)], MEMORY);
    expect(isDurable).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/^the clocks of the servers are 900 seconds apart/)]);
  });

  it('[VALKEY-6] all of them must flush before they acknowledge, and none may evict', () => {
    expect(judge([SAFE, SAFE], MEMORY)).toMatchObject({ isDurable: true, warnings: [], details: { servers: 2 } });
    const worse: readonly Partial<ServerSetup>[] = [
      { appendOnly: false },
      { appendOnly: null },
      { appendFsync: 'everysec' },
      { appendFsync: null },
      { evictionPolicy: 'allkeys-lru' },
      { evictionPolicy: null },
    ];
    for (const flaw of worse) {
      const { isDurable, warnings } = judge([SAFE, { ...SAFE, ...flaw }], MEMORY);
      expect([isDurable, warnings.length]).toEqual([false, 1]);
    }
  });

  it('[VALKEY-6] where they differ, all values are told', () => {
    const { details } = judge([SAFE, { ...SAFE, appendFsync: 'everysec', replicas: null }], {
      replicas: 2,
      isOnDisk: false,
    });
    expect(details).toMatchObject({ appendfsync: 'always, everysec', replicas: '1, unknown', confirm_replicas: 2 });
  });

  it('[VALKEY-21] a disk can be waited for only where all can tell, and have a file to tell of', () => {
    const onDisk = { ...ALONE, isConfirmedOnDisk: true };
    expect(unfitness([SAFE], onDisk)).toBeNull();
    const old = { ...SAFE, version: '7.0.15', hasWaitAof: false };
    expect(unfitness([old], ALONE)).toBeNull();
    expect(unfitness([SAFE, old], onDisk)).toMatch(/needs WAITAOF, which version 7.0.15 does not have/);
    expect(unfitness([{ ...SAFE, appendOnly: false }], onDisk)).toMatch(/appendonly yes/);
    const lazy = { ...SAFE, appendFsync: 'everysec' };
    expect(judge([lazy], { replicas: 0, isOnDisk: true })).toMatchObject({ isDurable: true, warnings: [] });
  });
});
