import type { Guard } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { finishErasure } from './erase.ts';
import { readOnly, unavailable } from './failure.ts';
import { clientMember, entryField, erasuresCovering, type Scope, scopeMember, sourceMember } from './keys.ts';
import type { ScopeKeys } from './layout.ts';
import { beginEpoch, readEpoch } from './meta.ts';
import { ADMISSION, admitScript, PERMIT } from './scripts/admission.ts';
import { READ_IN_CLUSTER, READ_ON_ONE_NODE, type ScopeScript } from './scripts/scope.ts';
import { encoderOf, type Parameters, type ValuesOf } from './scripts/script.ts';
import { type Argument, listOf, numberOf, type Reply, textListOf, textOf } from './wire.ts';

/** One call of a script at a scope. */
export interface ScopeRead<P extends Parameters> {
  readonly scope: Scope;
  readonly script: ScopeScript<P>;
  readonly values: ValuesOf<P>;
  /** The extra key of the script, if it takes one. */
  readonly extraKey?: (keys: ScopeKeys) => string;
  /** The client whose tidemark or notes the call is about. */
  readonly client?: string;
}

export interface ScopeWrite<P extends Parameters> extends ScopeRead<P> {
  readonly guards: readonly Guard[];
}

export type Written = { readonly gone: Guard } | { readonly gone: null; readonly reply: readonly Reply[] };

/** An attempt fails when an erasure, a reset or a loss of data came in between, or when clocks differ. */
const ATTEMPTS_MAX = 20;

const encodeAdmission = encoderOf(ADMISSION);
const encodePermit = encoderOf(PERMIT);
const encodeReadOnOneNode = encoderOf(READ_ON_ONE_NODE);
const encodeReadInCluster = encoderOf(READ_IN_CLUSTER);

/** Why a scope refused a permit: the time by its own clock, and the version of its fence. */
interface StalePermit {
  readonly atUs: string;
  readonly fence: string;
}

/** What the parts of the engine work with. */
export interface EngineContext extends Keyspace {
  readonly scopes: ScopeAccess;
}

/**
 * Reads and writes scopes. On one node every call is one script, which also looks at the registry. In a cluster a write
 * first gets a permit from the registry, and a read compares the epoch of the scope with the last one seen
 * (scripts/admission.ts explains the words).
 */
export class ScopeAccess {
  readonly #keyspace: Keyspace;
  /** In a cluster: the epoch of the store as last seen. */
  #epoch = '';

  constructor(keyspace: Keyspace) {
    this.#keyspace = keyspace;
  }

  async read<P extends Parameters>(read: ScopeRead<P>): Promise<readonly Reply[]> {
    let epoch = this.#epoch;
    let isConfirmed = false;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const args = read.script.args(read.values, this.#readArgs(read, epoch, isConfirmed));
      const reply = listOf(await this.#keyspace.connection.run(read.script, this.#keys(read), args));
      const kind = textOf(reply[0]);
      if (kind === 'no_epoch') await beginEpoch(this.#keyspace);
      else if (kind === 'other_epoch') {
        epoch = await this.epoch();
        isConfirmed = true;
      } else return reply;
    }
    throw unavailable('its epoch kept changing');
  }

  /** Finishes erasures that are in the way, then writes. */
  async write<P extends Parameters>(write: ScopeWrite<P>): Promise<Written> {
    let stale: StalePermit | null = null;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const reply: readonly Reply[] = await this.#attempt(write, stale);
      const kind = textOf(reply[0]);
      if (kind === 'read_only') throw readOnly();
      if (kind === 'gone') return { gone: guardAt(write.guards, reply[1]) };
      if (kind === 'no_epoch') await beginEpoch(this.#keyspace);
      else if (kind === 'erasing') await this.finishErasures(textListOf(reply.slice(1)));
      else if (kind === 'stale') stale = { atUs: textOf(reply[1]), fence: textOf(reply[2]) };
      else return { gone: null, reply };
    }
    throw unavailable('erasures kept coming in between');
  }

  async finishErasures(erasures: readonly string[]): Promise<void> {
    for (const erasure of erasures) await finishErasure(this.#keyspace, erasure);
  }

  async epoch(): Promise<string> {
    this.#epoch = await readEpoch(this.#keyspace);
    return this.#epoch;
  }

  /**
   * After a refusal the permit carries the time that the scope has reported. The registry issued this permit after that
   * time, so by the clock of the scope it is no older, whatever the clock of the registry says.
   */
  async #attempt<P extends Parameters>(write: ScopeWrite<P>, stale: StalePermit | null): Promise<readonly Reply[]> {
    const { connection, layout } = this.#keyspace;
    const { script, values } = write;
    const admission = admissionOf(write);
    const run = async (args: Argument[]) =>
      listOf(await connection.write(script, this.#keys(write), script.args(values, args)));
    if (connection.isOneNode) return run(encodeAdmission(admission));
    const request = admitScript.args({ fence: Number(stale?.fence ?? 0), admission });
    const reply = listOf(await connection.write(admitScript, layout.registry, request));
    if (textOf(reply[0]) !== 'admitted') return reply;
    const [, version = '', atUs = '', epoch = '', lastErasure = ''] = textListOf(reply);
    this.#epoch = epoch;
    const issuedAtUs = Number(stale?.atUs ?? atUs);
    return run(encodePermit({ version, issuedAtUs, epoch, lastErasure }));
  }

  #readArgs<P extends Parameters>({ scope, client }: ScopeRead<P>, epoch: string, isConfirmed: boolean): Argument[] {
    return this.#keyspace.connection.isOneNode
      ? encodeReadOnOneNode({ erasures: erasuresCovering(scope, client) })
      : encodeReadInCluster({ epoch, isConfirmed });
  }

  #keys<P extends Parameters>({ scope, script, extraKey }: ScopeRead<P>): readonly string[] {
    const { connection, layout } = this.#keyspace;
    const keys = layout.scope(scope);
    const registry = connection.isOneNode ? script.registry.map((name) => layout.registryKey(name)) : [];
    return [...keys.all(script.keys), ...(extraKey === undefined ? [] : [extraKey(keys)]), ...registry];
  }
}

/** What the registry must know to admit a write. */
export function admissionOf({
  scope,
  guards,
  client = null,
}: {
  readonly scope: Scope;
  readonly guards: readonly Guard[];
  readonly client?: string | null | undefined;
}): ValuesOf<typeof ADMISSION> {
  return {
    guards: guardRows(guards),
    erasures: erasuresCovering(scope, client),
    scopeErasures: erasuresCovering(scope),
    scopeMember: scopeMember(scope),
    sourceMember: sourceMember(scope) ?? '',
    clientMember: client === null ? '' : clientMember(client, scope),
  };
}

export function guardRows(guards: readonly Guard[]) {
  return guards.map((guard) => ({ field: entryField(guard), version: guard.version ?? '' }));
}

/** The guard that a script named by its index from 1. */
export function guardAt(guards: readonly Guard[], index: Reply | undefined): Guard {
  const guard = guards[numberOf(index) - 1];
  if (guard === undefined) throw new Error('a script named a guard that was not given');
  return guard;
}
