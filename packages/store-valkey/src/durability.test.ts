import { describe, expect, it } from 'vitest';
import { assessDurability, type ServerSetup, unusableReason } from './durability.ts';

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

describe('durability', () => {
  it('[VALKEY-2] a server that is too old, or part of a cluster that the address does not name, is refused', () => {
    expect(unusableReason([SAFE], ALONE)).toBeNull();
    expect(unusableReason([SAFE, { ...SAFE, version: '6.2.14' }], IN_CLUSTER)).toMatch(
      /version 6.2.14, and 7.0 or newer/,
    );
    expect(unusableReason([{ ...SAFE, isInCluster: true }], ALONE)).toMatch(/part of a cluster/);
    expect(unusableReason([{ ...SAFE, isInCluster: true }], IN_CLUSTER)).toBeNull();
  });

  it('[VALKEY-28] servers whose clocks are more than a minute apart cause a warning and are used', () => {
    const at = (timeMs: number | null) => ({ ...SAFE, timeMs });
    expect(assessDurability([at(0), at(60_000), at(null)], MEMORY).warnings).toEqual([]);
    const { isDurable, warnings } = assessDurability([at(5_000), at(0), at(900_000)], MEMORY);
    expect(isDurable).toBe(true);
    expect(warnings).toEqual([expect.stringMatching(/^the clocks of the servers are 900 seconds apart/)]);
  });

  it('[VALKEY-6] a store is durable if every server flushes before it acknowledges and none evicts', () => {
    expect(assessDurability([SAFE, SAFE], MEMORY)).toMatchObject({
      isDurable: true,
      warnings: [],
      details: { servers: 2 },
    });
    const worse: readonly Partial<ServerSetup>[] = [
      { appendOnly: false },
      { appendOnly: null },
      { appendFsync: 'everysec' },
      { appendFsync: null },
      { evictionPolicy: 'allkeys-lru' },
      { evictionPolicy: null },
    ];
    for (const flaw of worse) {
      const { isDurable, warnings } = assessDurability([SAFE, { ...SAFE, ...flaw }], MEMORY);
      expect([isDurable, warnings.length]).toEqual([false, 1]);
    }
  });

  it('[VALKEY-6] the details show all values when servers differ', () => {
    const { details } = assessDurability([SAFE, { ...SAFE, appendFsync: 'everysec', replicas: null }], {
      replicas: 2,
      isOnDisk: false,
    });
    expect(details).toMatchObject({ appendfsync: 'always, everysec', replicas: '1, unknown', confirm_replicas: 2 });
  });

  it('[VALKEY-21] writes can wait for the disk only if every server has WAITAOF and an append-only file', () => {
    const onDisk = { ...ALONE, isConfirmedOnDisk: true };
    expect(unusableReason([SAFE], onDisk)).toBeNull();
    const old = { ...SAFE, version: '7.0.15', hasWaitAof: false };
    expect(unusableReason([old], ALONE)).toBeNull();
    expect(unusableReason([SAFE, old], onDisk)).toMatch(/needs WAITAOF, which version 7.0.15 does not have/);
    expect(unusableReason([{ ...SAFE, appendOnly: false }], onDisk)).toMatch(/appendonly yes/);
    const lazy = { ...SAFE, appendFsync: 'everysec' };
    expect(assessDurability([lazy], { replicas: 0, isOnDisk: true })).toMatchObject({ isDurable: true, warnings: [] });
  });
});
