import { GROUPS_PER_CALL_MAX, PULL_SOURCES_MAX, Refusal } from '@tidemark/protocol';
import { requireCount } from '../admission/require-count.ts';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceCaller, DeviceSessions } from '../devices/device-sessions.ts';
import { emptyPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import { groupIn } from '../sources/memberships.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import type { LastSeenRecorder } from './last-seen-recorder.ts';
import { tokenOf } from './presented.ts';

interface AcknowledgementsParts {
  readonly store: Store;
  readonly sessions: DeviceSessions;
  readonly sources: Sources;
  readonly lastSeen: LastSeenRecorder;
}

/** Takes the tokens that devices hold, outside of a pull. */
export class Acknowledgements {
  readonly #parts: AcknowledgementsParts;

  constructor(parts: AcknowledgementsParts) {
    this.#parts = parts;
  }

  /**
   * Records what the device holds, by source, as a pull with the same tokens would. A token that a pull would answer with
   * `reset` acknowledges nothing and is left out. Returns the sources whose token was accepted.
   */
  async acknowledge(device: DeviceCaller, tokens: HeldTokens): Promise<readonly string[]> {
    const { sessions, lastSeen } = this.#parts;
    requireCount(tokens.size, PULL_SOURCES_MAX, 'sources');
    const own = await sessions.open(device);
    const found = await Promise.all(
      Array.from(tokens, ([source, held]) => this.#positionsOf(device.user, own, source, held)),
    );
    const accepted = found.flat().filter(({ start }) => start.kind === 'continue');
    await lastSeen.record(device, own, accepted.map(emptyPage));
    return [...new Set(accepted.map(({ partition }) => partition.source))];
  }

  /** The backend is not asked which partition or groups are the user's, a pull does that. */
  async #positionsOf(user: string, own: OwnDevice, name: string, held: HeldToken): Promise<readonly PullPosition[]> {
    const { store, sources } = this.#parts;
    try {
      const source = await sources.view(name);
      const restarts = own.restarts.get(name) ?? 0;
      const partitions = await this.#partitionsOf(source, user, held);
      return await Promise.all(
        partitions.map(async ({ partition, token }) =>
          positionAt(await store.partition(partition), { partition, token, restarts }),
        ),
      );
    } catch (error) {
      if (error instanceof Refusal && error.code === 'source_not_found') return [];
      throw error;
    }
  }

  async #partitionsOf(source: SourceView, user: string, held: HeldToken): Promise<readonly HeldPartition[]> {
    if (typeof held !== 'string') requireCount(held.size, GROUPS_PER_CALL_MAX, 'groups');
    const { owners } = await this.#parts.sources.memberships.knownOwners(source, user);
    return owners.flatMap((owner) => {
      const token = tokenOf(typeof held === 'string' ? held : { groups: held }, groupIn(source, owner));
      return token === null ? [] : { partition: { source: source.name, owner }, token };
    });
  }
}

/** What a device holds of a source: a token, or one for each group. */
type HeldToken = string | ReadonlyMap<string, string>;

/** By source. */
export type HeldTokens = ReadonlyMap<string, HeldToken>;

interface HeldPartition {
  readonly partition: PartitionKey;
  readonly token: string;
}
