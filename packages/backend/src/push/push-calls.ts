import {
  type AttributesOfSource,
  DEFAULT_LIMITS,
  type MoveReport,
  type PartitionsReport,
  type SourceTypes,
  type Untyped,
  type WriteReport,
} from '@tidemark/protocol';
import { path } from '../transport/path.ts';
import { type PushProgress, TidemarkError } from '../transport/tidemark-error.ts';
import type { CallOptions, Transport } from '../transport/transport.ts';
import { type BodyForm, chunksOf, type Piece } from './chunks.ts';
import {
  type Attributes,
  entriesOf,
  type IdsGiven,
  idText,
  memberText,
  type ObjectEntry,
  type Objects,
  type ObjectsGiven,
  type ObjectsNow,
  type PushedAttributes,
} from './objects.ts';

export interface PushOptions extends CallOptions {
  /** Whose data it is. Not needed for sources of partition type `app`. */
  readonly user?: string;
  /** The group whose data it is, for sources of partition type `group`. */
  readonly group?: string;
  /** The largest body of one call. Lower it when the server's `body_bytes_max` is lower. */
  readonly chunkBytesMax?: number;
  /** Objects in one call. Lower it when the server's `objects_per_write_max` is lower. */
  readonly chunkObjectsMax?: number;
  /** All in one call or nothing: more than one call can hold is refused with `push_too_large` before anything is sent. */
  readonly atomic?: boolean;
  /** Told after each call what has been committed so far. */
  readonly onProgress?: (progress: PushProgress) => void;
}

export interface PushObjectsOptions extends PushOptions {
  /** Ids of objects to delete, in the same commit where one call holds everything. None of them is pushed as well. */
  readonly deletes?: readonly (string | number)[];
  /** True: the objects are whole. Their attributes that are not given are removed. */
  readonly whole?: boolean;
}

/** What is pushed to one user or group. */
export interface PartitionChanges<A = Attributes> {
  readonly user?: string;
  readonly group?: string;
  readonly objects: ObjectsNow<A>;
  /** Ids of objects to delete, in the same commit. None of them is pushed as well. */
  readonly deletes?: readonly string[];
}

export interface PushPartitionsOptions extends CallOptions {
  /** True: the objects are whole. Their attributes that are not given are removed. */
  readonly whole?: boolean;
}

export interface MoveOptions extends CallOptions {
  /** The group that the objects are in. */
  readonly from: string;
  /** The group that they go to. */
  readonly to: string;
}

/** What became of a push; the numbers of all its calls together, `seq` of the last one. */
export interface PushReport extends WriteReport {
  readonly chunks: number;
}

/** As much as a server takes that nobody has configured. */
const CHUNK_BYTES_MAX = 10_000_000;
const NOTHING: PushProgress = { chunks: 0, objects: 0, bytes: 0, changed: 0, unchanged: 0 };
const OBJECTS = [{ name: 'objects', brackets: '{}' }] as const;
const DATA = [{ name: 'data', brackets: '{}' }] as const;
const BOTH = [...OBJECTS, { name: 'deletes', brackets: '[]' }] as const;
const IDS = [{ name: 'objects', brackets: '[]' }] as const;
const STATES = [{ name: 'delete_data', brackets: '{}' }, ...DATA] as const;

/**
 * Changes pushed into a source. Each call to the server is atomic. What fits into one call is one call; what does not is
 * sent in several, in order, each as full as allowed, and when one fails the ones before it stay. Every one of these
 * calls leaves the same when it is made twice, so lost answers are made up for by repetition, and a push that failed
 * half-way can simply be made again.
 */
export class PushCalls<S extends SourceTypes = Untyped> {
  readonly #api: Transport;

  constructor(api: Transport) {
    this.#api = api;
  }

  /** Adds objects, or updates the attributes given of those that exist, and deletes those of `deletes`. */
  objects<N extends keyof S & string>(
    source: N,
    objects: ObjectsGiven<PushedAttributes<S, N>>,
    options: PushObjectsOptions = {},
  ): Promise<PushReport> {
    const { deletes, whole } = options;
    const push: Push = {
      operation: 'push_objects',
      ...(deletes === undefined
        ? { pieces: memberPieces(objects), sections: OBJECTS }
        : { pieces: bothPieces(objects, deletes), sections: BOTH }),
      ...(whole === undefined ? {} : { members: { whole } }),
    };
    return this.#push(source, push, options);
  }

  /** Deletes objects; those that do not exist are no error. */
  deletes(source: keyof S & string, ids: IdsGiven, options: PushOptions = {}): Promise<PushReport> {
    return this.#push(source, { operation: 'push_deletes', pieces: idPieces(ids), sections: IDS }, options);
  }

  /** Replaces objects wholesale, without a look at what was there. */
  fastInsert<N extends keyof S & string>(
    source: N,
    objects: ObjectsGiven<AttributesOfSource<S, N>>,
    options: PushOptions = {},
  ): Promise<PushReport> {
    return this.#push(source, { operation: 'fast_insert', pieces: memberPieces(objects), sections: OBJECTS }, options);
  }

  /** Removes the attributes of `previous` that still have the value given, then sets those of `next`. */
  fastUpdate<N extends keyof S & string>(
    source: N,
    states: {
      readonly previous: Objects<PushedAttributes<S, N>>;
      readonly next: Objects<PushedAttributes<S, N>>;
    },
    options: PushOptions = {},
  ): Promise<PushReport> {
    const pieces = statePieces(states.previous, states.next);
    return this.#push(source, { operation: 'fast_update', pieces, sections: STATES }, options);
  }

  /** Removes the attributes given that still have the value given; an object without attributes is gone. */
  fastDelete<N extends keyof S & string>(
    source: N,
    data: ObjectsGiven<PushedAttributes<S, N>>,
    options: PushOptions = {},
  ): Promise<PushReport> {
    return this.#push(source, { operation: 'fast_delete', pieces: memberPieces(data), sections: DATA }, options);
  }

  /**
   * Pushes to several users or groups in one call. Each is written in one commit of its own; one that is refused says so in the
   * report, and refuses no other. More than one call can hold is refused by the server.
   */
  async partitions<N extends keyof S & string>(
    source: N,
    partitions: readonly PartitionChanges<PushedAttributes<S, N>>[],
    { whole, ...options }: PushPartitionsOptions = {},
  ): Promise<PartitionsReport> {
    const texts = partitions.map(partitionText);
    const more = whole === undefined ? '' : `,"whole":${whole}`;
    const body = `{"partitions":[${texts.join(',')}]${more}}`;
    const where = path`/app/v1/${source}/push_partitions`;
    return this.#api.call({ method: 'POST', path: where, body, repetition: 'harmless' }, options);
  }

  /** Moves objects from one group to another. A device in both has them all the time. */
  move(source: keyof S & string, ids: readonly string[], { from, to, ...options }: MoveOptions): Promise<MoveReport> {
    return this.#api.post(path`/app/v1/${source}/move`, { from, to, objects: ids }, 'harmless', options);
  }

  /** Sends a body that is JSON text already, unchanged and in one call. */
  text(source: keyof S & string, operation: PushOperation, body: string, options?: CallOptions): Promise<WriteReport> {
    const where = `${path`/app/v1/${source}`}/${operation}`;
    return this.#api.call({ method: 'POST', path: where, body, repetition: 'harmless' }, options);
  }

  async #push(
    source: string,
    { operation, pieces, sections, members }: Push,
    options: PushOptions,
  ): Promise<PushReport> {
    const where = `${path`/app/v1/${source}`}/${operation}`;
    const { user, group } = options;
    const whose = { ...(user === undefined ? {} : { user_id: user }), ...(group === undefined ? {} : { group }) };
    const envelope = { ...whose, ...members };
    const bounds = {
      bytesMax: options.chunkBytesMax ?? CHUNK_BYTES_MAX,
      objectsMax: options.chunkObjectsMax ?? DEFAULT_LIMITS.objectsPerWriteMax,
    };
    let progress = NOTHING;
    let last: WriteReport | null = null;
    try {
      for await (const { body, objects, bytes, isLast } of chunksOf(pieces, { envelope, sections }, bounds)) {
        if (options.atomic === true && !isLast) throw notOneCall(bounds);
        const outgoing = { method: 'POST', path: where, body, repetition: 'harmless' } as const;
        last = await this.#api.call<WriteReport>(outgoing, options);
        progress = grown(progress, { objects, bytes, ...last });
        options.onProgress?.(progress);
      }
    } catch (error) {
      if (error instanceof TidemarkError) error.pushed = progress;
      throw error;
    }
    return report(last, progress);
  }
}

export type PushOperation = 'push_objects' | 'push_deletes' | 'fast_insert' | 'fast_update' | 'fast_delete';

interface Push {
  readonly operation: PushOperation;
  readonly pieces: Pieces;
  readonly sections: BodyForm['sections'];
  /** Members of every body besides those that say whose data it is. */
  readonly members?: Readonly<Record<string, unknown>>;
}

function grown(before: PushProgress, call: Omit<PushProgress, 'chunks'>): PushProgress {
  return {
    chunks: before.chunks + 1,
    objects: before.objects + call.objects,
    bytes: before.bytes + call.bytes,
    changed: before.changed + call.changed,
    unchanged: before.unchanged + call.unchanged,
  };
}

function report(last: WriteReport | null, { chunks, changed, unchanged }: PushProgress): PushReport {
  if (last === null) throw new Error('a push makes at least one call');
  return { ...last, changed, unchanged, chunks };
}

function notOneCall({ bytesMax, objectsMax }: { readonly bytesMax: number; readonly objectsMax: number }) {
  const detail = `more than one call can hold (${objectsMax} objects, ${bytesMax} bytes); nothing was sent`;
  return new TidemarkError('push_too_large', detail);
}

type Pieces = Iterable<Piece> | AsyncIterable<Piece>;

/** The pieces of what is given, and then those of `rest`. They are there at once where what is given is. */
function piecesOf<Given>(
  given: Iterable<Given> | AsyncIterable<Given>,
  pieceOf: (one: Given) => Piece,
  rest: readonly Piece[] = [],
): Pieces {
  return Symbol.iterator in given ? piecesNow(given, pieceOf, rest) : piecesLater(given, pieceOf, rest);
}

function* piecesNow<Given>(given: Iterable<Given>, pieceOf: (one: Given) => Piece, rest: readonly Piece[]) {
  for (const one of given) yield pieceOf(one);
  yield* rest;
}

async function* piecesLater<Given>(
  given: AsyncIterable<Given>,
  pieceOf: (one: Given) => Piece,
  rest: readonly Piece[],
) {
  for await (const one of given) yield pieceOf(one);
  yield* rest;
}

function partitionText({ user, group, objects, deletes = [] }: PartitionChanges<unknown>): string {
  const whose = { ...(user === undefined ? {} : { user_id: user }), ...(group === undefined ? {} : { group }) };
  const members: string[] = [];
  for (const entry of Symbol.iterator in objects ? objects : Object.entries(objects)) {
    members.push(...memberPiece(entry).texts.filter((text) => text !== null));
  }
  const rest = deletes.length === 0 ? '' : `,"deletes":${JSON.stringify(deletes.map(admittedId))}`;
  const named = Object.entries(whose).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`);
  return `{${named.join('')}"objects":{${members.join(',')}}${rest}}`;
}

function memberPieces(objects: ObjectsGiven<unknown>): Pieces {
  return piecesOf(entriesOf(objects), memberPiece);
}

function memberPiece([given, attributes]: ObjectEntry<unknown>): Piece {
  const id = admittedId(given);
  return { id, texts: [admittedText(id, attributes)] };
}

function idPieces(ids: IdsGiven): Pieces {
  return piecesOf(ids, (given) => {
    const id = admittedId(given);
    return { id, texts: [JSON.stringify(id)] };
  });
}

/** In several calls a delete would undo the push of the same object, so an id in both is refused. */
function bothPieces(objects: ObjectsGiven<unknown>, deletes: readonly (string | number)[]): Pieces {
  const ids = new Set(deletes.map(admittedId));
  const rest = [...ids].map((id) => ({ id, texts: [null, JSON.stringify(id)] }));
  const bothPiece = (entry: ObjectEntry<unknown>) => {
    const { id, texts } = memberPiece(entry);
    if (ids.has(id)) throw new TidemarkError('invalid_argument', `deletes: ${JSON.stringify(id)} is pushed too`);
    return { id, texts: [...texts, null] };
  };
  return piecesOf(entriesOf(objects), bothPiece, rest);
}

/** The previous and the next state of an object never part. */
function* statePieces(previous: Objects<unknown>, next: Objects<unknown>): Generator<Piece, void> {
  const [before, after] = [new Map(Object.entries(previous)), new Map(Object.entries(next))];
  for (const id of new Set([...before.keys(), ...after.keys()])) {
    const states = [before.get(id), after.get(id)];
    yield { id, texts: states.map((state) => (state === undefined ? null : admittedText(id, state))) };
  }
}

function admittedText(id: string, attributes: unknown): string {
  try {
    return memberText(id, attributes);
  } catch (error) {
    throw new TidemarkError('invalid_argument', error instanceof Error ? error.message : 'not JSON', { cause: error });
  }
}

function admittedId(given: unknown): string {
  const id = idText(given);
  if (id !== null) return id;
  throw new TidemarkError('invalid_argument', 'an object id must be a text that is not empty, or a whole number');
}
