import { TidemarkError } from '@tidemark/backend';
import type { ApplyPorts } from '../apply/apply-ports.ts';
import type { RowChange, TableChanges } from '../apply/batch.ts';
import { readPage, type StoredPage } from '../apply/hidden-source.ts';
import type { TableState } from '../state/connector-state.ts';

/** Deletes the objects or the members of rows. */
export interface RowRemoval {
  readonly members: (label: string, changes: TableChanges) => Promise<void>;
  readonly objects: (label: string, state: TableState, changes: TableChanges) => Promise<void>;
}

/** What Tidemark has of the rows of a table. */
export class StoredRows {
  readonly #ports: Pick<ApplyPorts, 'client' | 'assignmentsOf'>;

  constructor(ports: Pick<ApplyPorts, 'client' | 'assignmentsOf'>) {
    this.#ports = ports;
  }

  page(label: string, { source, sourceType }: TableState, after: number): Promise<StoredPage> {
    const { client, assignmentsOf } = this.#ports;
    if (source !== null && sourceType === 'shared') return readPage(client, { source, shared: true }, after);
    return assignmentsOf(label).page(after);
  }

  /** Deletes all of it. Users stay, because they have more than these rows. Returns whether the source is still there. */
  async remove(label: string, state: TableState, removal: RowRemoval): Promise<boolean> {
    const isGone = state.source !== null && !(await this.#isSource(state.source));
    // With its source the objects of a shared table are gone as well.
    while (!(isGone && state.sourceType === 'shared')) {
      const { objects } = await this.page(label, state, 0);
      if (objects.length === 0) break;
      const changes = new Map<string, RowChange>(objects.map(({ id }) => [id, { kind: 'delete' }]));
      if (state.kind === 'users' || isGone)
        await this.#ports.assignmentsOf(label).write(new Map([...changes.keys()].map((id) => [id, null])));
      else if (state.kind === 'members') await removal.members(label, changes);
      else await removal.objects(label, state, changes);
    }
    return !isGone;
  }

  /** False: somebody has deleted it. */
  async #isSource(name: string): Promise<boolean> {
    try {
      await this.#ports.client.sources.get(name);
      return true;
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'source_not_found') return false;
      throw error;
    }
  }
}
