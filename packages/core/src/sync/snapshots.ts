import type { PartialError } from '@tidemark/protocol';
import type { OwnDevice } from '../devices/clients.ts';
import type { DeviceCaller } from '../devices/device-sessions.ts';
import type { BuiltPage } from '../pages/built-page.ts';
import { cachedPage, type PageBounds, type PullPosition, positionAt, pull } from '../pages/pull.ts';
import type { Clock } from '../ports/clock.ts';
import type { PartitionKey, PartitionState } from '../ports/store.ts';
import { freshen } from './freshen.ts';
import { pageBounds } from './page-bounds.ts';
import type { PageReaderParts } from './page-reader-parts.ts';
import { type RenderedPage, rendered } from './rendered-page.ts';

export interface SnapshotsParts extends PageReaderParts {
  readonly clock: Clock;
  readonly steadyClock?: Clock;
}

export interface SnapshotCall {
  readonly source: string;
  /** What the device holds already; null: nothing. */
  readonly token: string | null;
  readonly objectsMax?: number;
}

/** Pages one behind the other, some at a time. Whoever asks for the next has sent those before. */
export type SnapshotPages = AsyncGenerator<readonly RenderedPage[], void, undefined>;

/** Pages beyond what was there when the snapshot began. Who writes faster than a device reads is not chased for ever. */
const CHASED_PAGES_MAX = 100;
/** Pages that others have been given are at hand, and a few of them are given at once: they cost no memory. */
const AT_HAND_MAX = 4;
/** How often is asked, while a device reads, whether its user's data is still in the same partition. */
const PLACE_CHECK_MS = 1_000;

interface Reader {
  readonly device: DeviceCaller;
  readonly partition: PartitionKey;
  readonly bounds: PageBounds;
  own: OwnDevice;
  placeCheckedAtMs: number;
}

interface Line {
  readonly page: BuiltPage;
  readonly rendered: RenderedPage;
}

/** All of a source at once, whatever its sync type. */
export class Snapshots {
  readonly #parts: SnapshotsParts;

  constructor(parts: SnapshotsParts) {
    this.#parts = parts;
  }

  get #clock(): Clock {
    return this.#parts.steadyClock ?? this.#parts.clock;
  }

  /** What can be refused is refused before there is a page. */
  async begin(device: DeviceCaller, call: SnapshotCall): Promise<SnapshotPages> {
    const { sessions, sources, refresher, limits } = this.#parts;
    const { lineObjectsMax, pageUnitsMax } = limits;
    const bounds = pageBounds({ pageObjectsMax: lineObjectsMax, pageUnitsMax }, call);
    const own = await sessions.open(device);
    const source = await sources.view(call.source);
    const { partition } = await sources.memberships.placeOf(source, device.user);
    const trouble = await freshen(refresher, partition, source, call.token);
    const reader: Reader = { device, partition, bounds, own, placeCheckedAtMs: this.#clock.nowMs() };
    const state = await this.#parts.store.partition(partition);
    const first = await this.#read(reader, state, call.token, trouble);
    reader.own = await sessions.verify(device, own);
    // The tokens of the other pages are given, not presented: what may be trimmed depends on this one until the end.
    void this.#parts.visits.note(device, own, [{ partition, page: first.page }]);
    return this.#pages(reader, first);
  }

  /** Each is read when the one before it has left, so that a slow reader costs no memory. */
  async *#pages(reader: Reader, first: Line): SnapshotPages {
    const { epoch, head } = first.page.state;
    let lines: readonly Line[] = [first, ...this.#atHand(reader, first)];
    for (let chased = 0; ; ) {
      const last = lines.at(-1) as Line;
      yield lines.map((line) => line.rendered);
      // Another life of the partition has nothing to do with what was begun; the device goes on with it when it likes.
      if (!last.page.more || last.page.state.epoch !== epoch) return;
      if (last.page.token.seq >= head && ++chased >= CHASED_PAGES_MAX) return;
      if (!(await this.#isStillThere(reader))) return;
      const line = await this.#next(reader, last);
      lines = [line, ...this.#atHand(reader, line)];
      reader.own = await this.#parts.sessions.verify(reader.device, reader.own);
    }
  }

  /** Whether the user's data is still where it is read from, as of the last check. Rejects when the source is gone. */
  async #isStillThere(reader: Reader): Promise<boolean> {
    const { sources } = this.#parts;
    const { device, partition } = reader;
    if (this.#clock.nowMs() - reader.placeCheckedAtMs < PLACE_CHECK_MS) return true;
    const place = await sources.memberships.placeOf(await sources.view(partition.source), device.user);
    reader.placeCheckedAtMs = this.#clock.nowMs();
    return place.partition.user === partition.user;
  }

  async #next(reader: Reader, last: Line): Promise<Line> {
    const { partition } = reader;
    // Of what is read anew, reading tells how it is now; of what is at hand, nobody would ever know.
    const state = partition.user === null ? await this.#parts.store.partition(partition) : last.page.state;
    return this.#read(reader, state, last.rendered.token, null);
  }

  async #read(
    reader: Reader,
    state: PartitionState,
    token: string | null,
    trouble: PartialError | null,
  ): Promise<Line> {
    const { store, cache } = this.#parts;
    const seen = this.#readPosition(reader, state, token);
    const page = await pull(store, seen, reader.bounds, cache);
    return { page, rendered: rendered(seen, page, trouble) };
  }

  /** Those that follow a page and need not be made. */
  #atHand(reader: Reader, line: Line): readonly Line[] {
    const lines: Line[] = [];
    if (reader.partition.user !== null) return lines;
    for (let last = line; last.page.more && lines.length < AT_HAND_MAX - 1; ) {
      const seen = this.#readPosition(reader, last.page.state, last.rendered.token);
      const page = cachedPage(seen, reader.bounds, this.#parts.cache);
      if (page === null) break;
      last = { page, rendered: rendered(seen, page, null) };
      lines.push(last);
    }
    return lines;
  }

  #readPosition({ partition, own }: Reader, state: PartitionState, token: string | null): PullPosition {
    return positionAt(state, { partition, token, restarts: own.restarts.get(partition.source) ?? 0 });
  }
}
