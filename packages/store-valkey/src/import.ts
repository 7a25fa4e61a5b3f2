import {
  type DocumentPiece,
  type MovableStore,
  type NotePiece,
  type PartitionKey,
  type PartitionState,
  type Piece,
  type RecordPiece,
  scopeOf,
} from '@tidemark/core/ports';
import { acknowledgedMember } from './acknowledged.ts';
import type { Keyspace } from './connection.ts';
import { importJobs } from './jobs/move-jobs.ts';
import { clientMember, keyOf, type Scope, scopeMember, sourceMember } from './keys.ts';
import type { Layout, RegistryKeyName, ScopeKeyName } from './layout.ts';
import { readHead, readMigrationState, writeMigrationState } from './meta.ts';
import { noteEnd, noteField, noteValue } from './notes.ts';
import type { Opening } from './opening.ts';
import { headedPart, headedRecord } from './records.ts';
import type { EngineContext } from './scope-access.ts';
import { adoptEpochScript, putScript } from './scripts/registry.ts';
import { addStats } from './stats.ts';
import { tidemarkMember } from './tidemarks.ts';
import { prepareList } from './wire.ts';

export function migration(
  context: EngineContext,
  opening: Opening,
): Pick<MovableStore, 'head' | 'beginImport' | 'import' | 'migrationState' | 'setMigrationState'> {
  const { connection, layout, scopes } = context;
  const requireTarget = () => {
    if (opening.as !== 'target') throw new Error('this store was not opened to be filled');
  };
  return {
    head: () => readHead(context),

    async beginImport({ epoch, lastVersion }) {
      requireTarget();
      const args = adoptEpochScript.args({ epoch, version: lastVersion });
      await connection.write(adoptEpochScript, layout.registry, args);
    },

    async import(pieces) {
      requireTarget();
      await importPieces(context, await scopes.epoch(), pieces);
    },

    migrationState: () => readMigrationState(context),
    setMigrationState: (state) => writeMigrationState(context, state),
  };
}

/**
 * Writes pieces unchanged: one step for each key. No other client uses the store meanwhile, and the store cannot be opened
 * before the import is complete. Scopes are added to the indexes first, so that they are found whenever the import dies.
 */
async function importPieces(keyspace: Keyspace, epoch: string, pieces: readonly Piece[]): Promise<void> {
  const batch = new ImportBatch(keyspace.layout, epoch);
  for (const piece of pieces) batch.add(piece);
  await batch.write(keyspace);
  const rows = pieces.flatMap((piece) => (piece.what === 'stat' ? [piece.row] : []));
  if (rows.length > 0) await addStats(keyspace, rows);
  await importJobs(
    keyspace,
    pieces.filter((piece) => piece.what === 'queue' || piece.what === 'job'),
  );
}

/** A command, and the pairs of field and value or of score and member that it takes. */
interface Put {
  readonly command: 'HSET' | 'ZADD';
  readonly members: (string | number)[];
}

class ImportBatch {
  readonly #layout: Layout;
  readonly #epoch: string;
  readonly #indexes = new Map<string, Put>();
  readonly #content = new Map<string, Put>();

  constructor(layout: Layout, epoch: string) {
    this.#layout = layout;
    this.#epoch = epoch;
  }

  add(piece: Piece): void {
    switch (piece.what) {
      case 'entry':
        this.#entry(keyOf(...piece.key), `${piece.version} ${piece.value}`);
        break;
      case 'partition':
        this.#partition(piece.partition, piece.state);
        break;
      case 'record':
        this.#record(piece);
        break;
      case 'tombstone':
        this.#member(scopeOf(piece.partition), 'tombstones', piece.seq, piece.id);
        break;
      case 'tidemark':
        this.#clientIndex(piece.mark.client, scopeOf(piece.partition));
        this.#member(scopeOf(piece.partition), 'tidemarks', 0, tidemarkMember(piece.mark));
        this.#member(scopeOf(piece.partition), 'acknowledged', 0, acknowledgedMember(piece.mark));
        break;
      case 'note':
        this.#note(piece);
        break;
      case 'document':
        this.#document(piece);
        break;
      case 'part':
        this.#part(piece);
        break;
    }
  }

  async write({ connection }: Keyspace): Promise<void> {
    for (const puts of [this.#indexes, this.#content]) {
      await Promise.all(
        [...puts].map(async ([key, { command, members }]) => {
          const args = putScript.args({ command, members: await prepareList(members, String) });
          await connection.write(putScript, [key], args);
        }),
      );
    }
  }

  #entry(field: string, value: string): void {
    this.#put(this.#content, this.#layout.registryKey('entries'), 'HSET', [field, value]);
    this.#put(this.#content, this.#layout.registryKey('entry_names'), 'ZADD', [0, field]);
  }

  #partition(partition: PartitionKey, state: PartitionState): void {
    const scope = scopeOf(partition);
    this.#scopeIndex(scope);
    const { id, replicationId, earlier } = splitEpochs(this.#epoch, state);
    const { head, floor, size, checksum } = state;
    const fields = { w: id, r: replicationId, h: head, f: floor, n: size, c: checksum, p: earlier };
    for (const [name, value] of Object.entries(fields)) this.#field(scope, 'state', name, value);
  }

  #record({ partition, seq, id, checksum, record, files = [] }: RecordPiece): void {
    const scope = scopeOf(partition);
    this.#field(scope, 'records', id, headedRecord(record, checksum));
    this.#member(scope, 'live', seq, id);
    if (files.length > 0) this.#field(scope, 'object_files', id, files.join(''));
    for (const sha256 of files) this.#member(scope, 'file_objects', 0, sha256 + id);
  }

  #note({ partition, client, note, endsAtMs }: NotePiece): void {
    const scope = scopeOf(partition);
    this.#scopeIndex(scope);
    this.#clientIndex(client, scope);
    const field = noteField(client, note);
    this.#field(scope, 'notes', field, noteValue({ ...note, ...(endsAtMs === null ? {} : { endsAtMs }) }));
    this.#member(scope, 'note_names', 0, field);
    if (endsAtMs !== null) this.#member(scope, 'note_ends', 0, noteEnd(client, note, endsAtMs));
  }

  #document({ key: { scope, name }, type, version, partCount, units }: DocumentPiece): void {
    this.#scopeIndex(scope);
    this.#field(scope, 'documents', name, [type, version, partCount, units].join(' '));
  }

  #part({ key: { scope, name }, part, text }: Extract<Piece, { readonly what: 'part' }>): void {
    this.#put(this.#content, this.#layout.scope(scope).parts(name), 'HSET', [part, headedPart(text)]);
  }

  #scopeIndex(scope: Scope): void {
    this.#index('scopes', scopeMember(scope));
    const bySource = sourceMember(scope);
    if (bySource !== null) this.#index('scopes_by_source', bySource);
    this.#field(scope, 'state', 'e', this.#epoch);
  }

  #clientIndex(client: string, scope: Scope): void {
    this.#index('scopes_by_client', clientMember(client, scope));
  }

  #index(key: RegistryKeyName, member: string): void {
    this.#put(this.#indexes, this.#layout.registryKey(key), 'ZADD', [0, member]);
  }

  #field(scope: Scope, key: ScopeKeyName, field: string, value: string | number): void {
    this.#put(this.#content, this.#layout.scope(scope).one(key), 'HSET', [field, value]);
  }

  #member(scope: Scope, key: ScopeKeyName, score: number, member: string): void {
    this.#put(this.#content, this.#layout.scope(scope).one(key), 'ZADD', [score, member]);
  }

  #put(puts: Map<string, Put>, key: string, command: Put['command'], pair: readonly (string | number)[]): void {
    const put = puts.get(key) ?? { command, members: [] };
    puts.set(key, put);
    put.members.push(...pair);
  }
}

/**
 * Splits the epochs of a partition that another engine may have made. Whatever all of them have in common after the epoch
 * of the store becomes the id of the partition; the rest of each, which may be empty, becomes a replication id.
 */
export function splitEpochs(
  storeEpoch: string,
  { epoch, earlier = [] }: Pick<PartitionState, 'epoch' | 'earlier'>,
): { readonly id: string; readonly replicationId: string; readonly earlier: string } {
  const epochs = [epoch, ...earlier.map((one) => one.epoch)];
  if (epochs.some((one) => !one.startsWith(storeEpoch))) {
    throw new Error('the epoch of a partition does not begin with that of its store');
  }
  let end = epoch.length;
  while (epochs.some((one) => !one.startsWith(epoch.slice(0, end)))) end -= 1;
  const earlierIds = earlier.map((one) => `${one.epoch.slice(end)}:${one.upTo}`);
  return { id: epoch.slice(storeEpoch.length, end), replicationId: epoch.slice(end), earlier: earlierIds.join(',') };
}
