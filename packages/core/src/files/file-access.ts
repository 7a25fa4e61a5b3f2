import { allEntries } from '../entries/all-entries.ts';
import { isSameOwner, partitionName, partitionParts } from '../ports/owner.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Sources } from '../sources/sources.ts';
import { claimOf, type ReadClaim, readGeneration } from './file-entries.ts';

/** More claims than these are not searched through: those in the partitions of the user are looked up instead. */
const CLAIMS_SEARCHED_MAX = 100;

export interface FileAccessPorts {
  readonly store: Store;
  readonly sources: Sources;
}

/** Decides who may read a file. */
export class FileAccess {
  readonly #store: Store;
  readonly #sources: Sources;

  constructor({ store, sources }: FileAccessPorts) {
    this.#store = store;
    this.#sources = sources;
  }

  /**
   * Whether an object in one of the user's partitions refers to the file, where somebody who had the file has referred to
   * it. An adapter that decides whose data the user reads is asked; it is asked only if everything else is fulfilled.
   */
  async mayRead(user: string, sha256: string): Promise<boolean> {
    const open: PartitionKey[] = [];
    const seen = new Set<string>();
    for (const { partition, isProven, generation } of await this.#claimsFor(user, sha256)) {
      const name = partitionName(partition);
      if (!isProven || seen.has(name)) continue;
      const known = await this.#readableBy(user, partition);
      if (known === 'no' || (await this.#isOfEarlierUser(partition, generation))) continue;
      seen.add(name);
      if ((await this.#store.objectsWithFile(partition, sha256, 1)).length === 0) continue;
      if (known === 'yes') return true;
      open.push(partition);
    }
    for (const partition of open) if (await this.#isReadableNow(user, partition)) return true;
    return false;
  }

  async #claimsFor(user: string, sha256: string): Promise<readonly ReadClaim[]> {
    const limit = CLAIMS_SEARCHED_MAX;
    const claims = await this.#store.listEntries({ kind: 'file_claim', prefix: [sha256], limit });
    if (claims.length < limit) return claims.map(claimOf);
    const own: ReadClaim[] = [];
    for (const source of await this.#sources.list()) {
      for (const partition of await this.#sources.memberships.knownPartitionsOf(source, user)) {
        const prefix = [sha256, ...partitionParts(partition)];
        for await (const entry of allEntries(this.#store, 'file_claim', prefix)) own.push(claimOf(entry));
      }
    }
    return own;
  }

  /** `perhaps`: by the last answer of the adapter, which has to be asked again. */
  async #readableBy(user: string, { source: name, owner }: PartitionKey): Promise<'yes' | 'no' | 'perhaps'> {
    const source = await this.#sources.find(name);
    if (source === null) return 'no';
    const { memberships } = this.#sources;
    const { owners } = await memberships.knownOwners(source, user);
    if (!owners.some((one) => isSameOwner(one, owner))) return 'no';
    return memberships.areDecidedByAdapter(source) ? 'perhaps' : 'yes';
  }

  async #isReadableNow(user: string, { source: name, owner }: PartitionKey): Promise<boolean> {
    const source = await this.#sources.find(name);
    if (source === null) return false;
    const { owners } = await this.#sources.memberships.owners(source, user);
    return owners.some((one) => isSameOwner(one, owner));
  }

  /** A claim in the data of a user who was deleted says nothing about the next user of this login. */
  async #isOfEarlierUser({ owner }: PartitionKey, generation: number | null): Promise<boolean> {
    return owner.kind === 'user' && (await readGeneration(this.#store, owner.login)) !== generation;
  }
}
