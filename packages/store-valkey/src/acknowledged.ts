import { acknowledgedSeq, type DeviceTidemark, type NoteStore, type PartitionKey, scopeOf } from '@tidemark/core/ports';
import { acknowledgedPrefix, exclusive, inclusive, membersFrom, SEQ_DIGITS } from './keys.ts';
import type { EngineContext, ScopeRead } from './scope-access.ts';
import { countAcknowledgedScript, indexTidemarksScript, listAcknowledgedScript } from './scripts/devices.ts';
import type { Parameters } from './scripts/script.ts';
import { tidemarkFrom } from './tidemarks.ts';
import { listOf, numberOf, type Reply, textOf } from './wire.ts';

/** How often a read builds the index. Once is enough unless servers without it write at the same time. */
const BUILDS_MAX = 2;

export function acknowledged(context: EngineContext): Pick<NoteStore, 'countAcknowledged' | 'listAcknowledged'> {
  return {
    async countAcknowledged(key, { epoch, below }) {
      const { min, max } = membersFrom(acknowledgedPrefix(epoch));
      const values = { min, max, below: exclusive(acknowledgedPrefix(epoch, below)) };
      const [, devices, count] = await readIndex(context, key, { script: countAcknowledgedScript, values });
      return { devices: numberOf(devices), below: numberOf(count) };
    },

    async listAcknowledged(key, { epoch, below, after, limit }) {
      const prefix = acknowledgedPrefix(epoch);
      const values = {
        min: after === undefined ? inclusive(prefix) : exclusive(acknowledgedMember({ epoch, ...after })),
        max: exclusive(acknowledgedPrefix(epoch, below)),
        // Lua counts bytes from 1.
        clientAt: Buffer.byteLength(prefix) + SEQ_DIGITS + 1,
        limit,
      };
      const [, ...members] = await readIndex(context, key, { script: listAcknowledgedScript, values });
      return members.map((member) => tidemarkFrom(textOf(member)));
    },
  };
}

export function acknowledgedMember(mark: Pick<DeviceTidemark, 'client' | 'epoch' | 'base'>): string {
  return acknowledgedPrefix(mark.epoch, acknowledgedSeq(mark)) + mark.client;
}

/** Reads the index, and builds it first where servers of an earlier version have written tidemarks without it. */
async function readIndex<P extends Parameters>(
  context: EngineContext,
  key: PartitionKey,
  read: Pick<ScopeRead<P>, 'script' | 'values'>,
): Promise<readonly Reply[]> {
  const scope = scopeOf(key);
  for (let builds = 0; ; builds++) {
    const reply = await context.scopes.read({ scope, ...read });
    if (textOf(reply[0]) !== 'incomplete') return reply;
    if (builds === BUILDS_MAX) throw new Error('the index of acknowledgements stays incomplete');
    await buildIndex(context, key);
  }
}

/** Marks that are recorded meanwhile are added by whoever records them, so the steps need not be atomic together. */
async function buildIndex({ connection, layout }: EngineContext, key: PartitionKey): Promise<void> {
  const keys = layout.scope(scopeOf(key)).all(indexTidemarksScript.keys);
  for (let min = '-'; ; ) {
    const reply = listOf(await connection.write(indexTidemarksScript, keys, indexTidemarksScript.args({ min })));
    if (textOf(reply[0]) === 'done') return;
    min = exclusive(textOf(reply[1]));
  }
}
