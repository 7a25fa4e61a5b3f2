import { type PartialError, Refusal } from '@tidemark/protocol';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import type { BuiltPage } from '../pages/build-page.ts';
import { type PullPosition, positionAt } from '../pages/pull-position.ts';
import type { PageBounds } from '../pages/read-from-store.ts';
import { pageBounds, type RenderedPage, readPage, rendered } from '../pages/read-page.ts';
import { sentPosition } from '../pages/record-tidemark.ts';
import { cachedPage } from '../pages/shared-pages.ts';
import type { Clock } from '../ports/clock.ts';
import { oneOf } from '../ports/owner.ts';
import type { PartitionKey, PartitionState } from '../ports/store.ts';
import { SOURCE_FILLING } from '../refresh/pull-wait.ts';
import { requireServed } from '../sources/app-versions.ts';
import { ensureFresh, type PageReaderParts } from './page-reader.ts';

export interface SnapshotsParts extends PageReaderParts {
  readonly clock: Clock;
  readonly steadyClock?: Clock;
}

export interface SnapshotCall {
  readonly source: string;
  /** The group, if the data of the source belongs to groups. Absent: the only one of the user. */
  readonly group?: string;
  /** What the device holds already; null: nothing. */
  readonly token: string | null;
  readonly objectsMax?: number;
}

/** Yields pages in order, some at a time. The consumer asks for the next ones when it has sent those before. */
export type SnapshotPages = AsyncGenerator<readonly RenderedPage[], void, undefined>;

/** Pages read beyond the head at which the snapshot began. A snapshot does not follow a fast writer for ever. */
const CHASED_PAGES_MAX = 100;
/** Pages yielded at once when they are in the cache, where they take no extra memory. */
const CACHED_PAGES_MAX = 4;
/** How often a snapshot checks whether the user's data is still in the same partition. */
const PARTITION_CHECK_MS = 1_000;

/** A device that reads a snapshot. */
interface Reader {
  readonly device: DeviceCaller;
  readonly partition: PartitionKey;
  readonly bounds: PageBounds;
  own: OwnDevice;
  partitionCheckedAtMs: number;
}

interface Line {
  readonly page: BuiltPage;
  readonly rendered: RenderedPage;
}

/** Delivers all of a source at once, whatever its sync type. */
export class Snapshots {
  readonly #parts: SnapshotsParts;

  constructor(parts: SnapshotsParts) {
    this.#parts = parts;
  }

  get #clock(): Clock {
    return this.#parts.steadyClock ?? this.#parts.clock;
  }

  /** Reads the first page, so that refusals come before anything is sent. */
  async begin(device: DeviceCaller, call: SnapshotCall): Promise<SnapshotPages> {
    const { store, sessions, sources, refresher, limits, lastSeen } = this.#parts;
    const { lineObjectsMax, pageUnitsMax } = limits;
    const bounds = pageBounds({ pageObjectsMax: lineObjectsMax, pageUnitsMax }, call);
    const own = await sessions.open(device);
    const source = await sources.view(call.source);
    if (source.filling) throw fillingRefusal();
    requireServed(source, own.schemaVersions);
    const { partition } = await sources.memberships.partitionOf(source, device.user, call.group);
    const error = await ensureFresh(refresher, partition, source, call.token);
    const reader: Reader = { device, partition, bounds, own, partitionCheckedAtMs: this.#clock.nowMs() };
    const first = await this.#read(reader, await store.partition(partition), call.token, error);
    reader.own = await sessions.verify(device, own);
    if (!(await this.#isKnownReadable(reader)))
      throw new Refusal('not_a_member', 'the user has left the group meanwhile');
    // The device has presented only this token. Trimming must not pass it until the snapshot ends.
    void lastSeen.record(device, own, [sentPosition(first.page)]);
    return this.#pages(reader, first);
  }

  /** Reads each page when the ones before it have been sent, so that a slow device takes no memory. */
  async *#pages(reader: Reader, first: Line): SnapshotPages {
    const { epoch, head } = first.page.state;
    let lines: readonly Line[] = [first, ...this.#cachedAfter(reader, first)];
    for (let chased = 0; ; ) {
      const last = lines.at(-1) as Line;
      if (!last.page.more && last !== first) await this.#recordSent(reader, first, last);
      yield lines.map((line) => line.rendered);
      // A partition with a new epoch is not what the snapshot began with. The device continues by itself.
      if (!last.page.more || last.page.state.epoch !== epoch) return;
      if (last.page.token.seq >= head && ++chased >= CHASED_PAGES_MAX) return;
      if (!(await this.#isStillReadable(reader))) return;
      const line = await this.#next(reader, last);
      lines = [line, ...this.#cachedAfter(reader, line)];
      reader.own = await this.#parts.sessions.verify(reader.device, reader.own);
      if (!(await this.#isKnownReadable(reader))) return;
    }
  }

  /** Records, before the last page is sent, that the device will have been sent everything. It acknowledges that later. */
  async #recordSent({ device, own }: Reader, { page }: Line, { page: { token } }: Line): Promise<void> {
    if (token.epoch !== page.token.epoch) return;
    await this.#parts.lastSeen.record(device, own, [{ ...page, sent: token.seq }]);
  }

  /** Whether the user may still read the partition, as of the last time that the adapter was asked. */
  async #isStillReadable(reader: Reader): Promise<boolean> {
    const { sources } = this.#parts;
    if (this.#clock.nowMs() - reader.partitionCheckedAtMs < PARTITION_CHECK_MS) return true;
    const { owners } = await sources.memberships.owners(
      await sources.view(reader.partition.source),
      reader.device.user,
    );
    reader.partitionCheckedAtMs = this.#clock.nowMs();
    return oneOf(owners)(reader.partition.owner);
  }

  /** Called after a page was read and before it is delivered. The adapter is not asked. */
  async #isKnownReadable({ device, partition }: Reader): Promise<boolean> {
    // Data of users and of everybody is theirs for good.
    if (partition.owner.kind !== 'group') return true;
    const { sources } = this.#parts;
    const source = await sources.find(partition.source);
    return (
      source === null || oneOf((await sources.memberships.knownOwners(source, device.user)).owners)(partition.owner)
    );
  }

  async #next(reader: Reader, last: Line): Promise<Line> {
    const { partition } = reader;
    // A page read from the store brings the present state with it. A cached one does not, so the state is read first.
    const state = partition.owner.kind === 'shared' ? await this.#parts.store.partition(partition) : last.page.state;
    return this.#read(reader, state, last.rendered.token, null);
  }

  async #read(reader: Reader, state: PartitionState, token: string | null, error: PartialError | null): Promise<Line> {
    const position = positionOf(reader, state, token);
    const page = await readPage(this.#parts.store, position, reader.bounds, this.#parts.cache);
    return { page, rendered: rendered(position, page, error) };
  }

  /** The pages after `line` that are in the cache. */
  #cachedAfter(reader: Reader, line: Line): readonly Line[] {
    const lines: Line[] = [];
    if (reader.partition.owner.kind !== 'shared') return lines;
    for (let last = line; last.page.more && lines.length < CACHED_PAGES_MAX - 1; ) {
      const position = positionOf(reader, last.page.state, last.rendered.token);
      const page = cachedPage(position, reader.bounds, this.#parts.cache);
      if (page === null) break;
      last = { page, rendered: rendered(position, page, null) };
      lines.push(last);
    }
    return lines;
  }
}

function fillingRefusal(): Refusal {
  const { code, detail, retry_after_s } = SOURCE_FILLING;
  return new Refusal(code, detail, [], retry_after_s);
}

function positionOf({ partition, own }: Reader, state: PartitionState, token: string | null): PullPosition {
  return positionAt(state, { partition, token, restarts: own.restarts.get(partition.source) ?? 0 });
}
