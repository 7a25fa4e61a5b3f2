import type { TidemarkClient } from '@tidemark/backend';
import { declareSource, type SourceSettings } from '../apply/hidden-source.ts';
import type { MappedTable } from '../apply/row.ts';
import type { WorkQueue } from '../copy/work-queue.ts';
import type { TablePlan } from '../mapping/plan.ts';
import type { TablePhase } from '../state/connector-state.ts';

/** What has to be complete before devices see a table. */
export interface FillingWorld {
  readonly ordered: readonly MappedTable[];
  readonly phaseOf: (label: string) => TablePhase;
  readonly queue: Pick<WorkQueue, 'last' | 'isDone'>;
}

/**
 * The sources whose tables are copied for the first time. Devices get nothing of them before they are complete: a part of a table
 * looks like all of it. That they are filled is kept at the source itself, so that it is as durable as the data.
 */
export class FillingSources {
  readonly #client: TidemarkClient;
  readonly #sources: Set<string>;
  /** Label → the last work that was asked for when the copy was complete. */
  readonly #workAtEnd = new Map<string, number>();
  /** Whether what was streamed before this run has been applied, so that all work that it asked for is queued. */
  #isCaughtUp = false;

  constructor(client: TidemarkClient, sources: Iterable<string>) {
    this.#client = client;
    this.#sources = new Set(sources);
  }

  /** Whether `release` may find a source that has become complete. */
  get mayRelease(): boolean {
    return this.#sources.size > 0 && this.#isCaughtUp;
  }

  caughtUp(): void {
    this.#isCaughtUp = true;
  }

  /** Shows devices the sources that have become complete. */
  async release({ ordered, phaseOf, queue }: FillingWorld): Promise<void> {
    if (!this.mayRelease) return;
    for (const table of ordered) {
      if (table.kind !== 'objects' || !this.#sources.has(table.plan.source)) continue;
      const isCopied = neededFor(table, ordered).every((label) => phaseOf(label).name === 'ready');
      if (!isCopied) this.#workAtEnd.delete(table.label);
      else if (this.#isPast(table.label, queue)) await this.#show(table.plan.source);
    }
  }

  /** A source that no table fills any more has nothing, and is complete. */
  async abandon(source: string, ordered: readonly MappedTable[]): Promise<void> {
    if (ordered.some((table) => table.kind === 'objects' && table.plan.source === source)) return;
    if ((await this.#client.sources.get(source)).filling) await this.#show(source);
  }

  /** Rows that were to be read by their keys, or follow their parents, when the copy ended have come. */
  #isPast(label: string, queue: FillingWorld['queue']): boolean {
    const last = this.#workAtEnd.get(label) ?? queue.last;
    this.#workAtEnd.set(label, last);
    return queue.isDone(last);
  }

  async #show(source: string): Promise<void> {
    await this.#client.sources.update(source, { filling: false });
    this.#sources.delete(source);
  }
}

/**
 * The tables that must be copied before devices see this one: a row without its parent is nobody's, and while memberships are
 * missing, a device would take the groups that it has got for all of them.
 */
function neededFor(table: MappedTable, ordered: readonly MappedTable[]): readonly string[] {
  if (table.kind !== 'objects') return [table.label];
  const { owner, sourceType } = table.plan;
  const members = sourceType === 'group' ? ordered.filter(({ kind }) => kind === 'members') : [];
  const parents = owner.kind === 'through' ? [owner.parent] : [];
  return [table.label, ...parents, ...members.map(({ label }) => label)];
}

export interface DeclaredSource {
  readonly isNew: boolean;
  readonly isFilling: boolean;
}

/**
 * Declares the source of a table unless there is one. A source that others have declared is filled, too, when the table is new to
 * the connector and the source is not known to have objects.
 */
export async function declareFilled(
  client: TidemarkClient,
  { source, sourceType }: Pick<TablePlan, 'source' | 'sourceType'>,
  { isKnown, settings }: { readonly isKnown: boolean; readonly settings: SourceSettings },
): Promise<DeclaredSource> {
  const partitionType = sourceType === 'shared' ? 'app' : sourceType;
  const fed = { partitionType, filling: true, settings } as const;
  const { isNew, isFilling, objects } = await declareSource(client, source, fed);
  if (isNew || isFilling) return { isNew, isFilling: true };
  // How many objects the sources of users and groups have is not counted.
  if (isKnown || (objects ?? 0) > 0) return { isNew, isFilling };
  await client.sources.update(source, { filling: true });
  return { isNew, isFilling: true };
}
