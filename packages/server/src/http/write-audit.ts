import type { AuditFact, ChangedObject, ChangeObserver } from '@tidemark/core';
import {
  AUDIT_CHANGES_MAX,
  AUDIT_VALUE_UNITS_MAX,
  type AuditChange,
  type AuditSubject,
  parseJson,
} from '@tidemark/protocol';
import type { FastifyRequest } from 'fastify';
import { isBySession } from '../auth/authenticate.ts';
import { callerAddress } from './caller-address.ts';
import type { Route, RouteContext } from './route.ts';
import { loginIn } from './show-activity.ts';

interface AuditedOutcome {
  /** `ok`, or the code of the refusal. */
  readonly result: string;
  /** What the route answers; absent: it refused. */
  readonly answer?: unknown;
}

/** The entry of the audit trail for one request, in the making. */
export class AuditDraft {
  readonly #route: Route & { readonly audit: string };
  readonly #request: FastifyRequest;
  readonly #changed: ChangedObject[] = [];

  private constructor(route: Route & { readonly audit: string }, request: FastifyRequest) {
    this.#route = route;
    this.#request = request;
  }

  /** Returns null if the request is not audited. */
  static of(route: Route, request: FastifyRequest): AuditDraft | null {
    const { audit, isAuditedByHandOnly = false } = route;
    if (audit === undefined || (isAuditedByHandOnly && !isBySession(request))) return null;
    return new AuditDraft({ ...route, audit }, request);
  }

  /** Takes the objects that the request changes, if it writes objects. */
  get observer(): ChangeObserver | undefined {
    if (this.#route.isAuditedByHandOnly !== true) return undefined;
    return { objectsMax: AUDIT_CHANGES_MAX, observe: (changed) => void this.#changed.push(...changed) };
  }

  async write(context: RouteContext, { result, answer }: AuditedOutcome): Promise<void> {
    // Requests refused for overload or rate limits are not audited, so that strangers cannot fill the disk.
    if (result === 'rate_limited' || result === 'overloaded') return;
    const changes = this.#changes(answer);
    if (changes?.objects_changed === 0) return;
    const { bearer, log } = this.#request;
    const fact = this.#fact(result, answer);
    try {
      // Failed requests of strangers are added up in one entry, because there may be any number of them.
      const isByStranger = bearer === null && result !== 'ok';
      if (isByStranger) await context.tidemark.audit.recordSummed(fact);
      else await context.tidemark.audit.record({ ...fact, ...changes });
    } catch (error) {
      // The request itself is done or refused, and its answer says so. Only the operator learns of the missing entry.
      context.metrics.store.auditMissing();
      log.error({ err: error, ...fact }, 'audit_not_written');
    }
  }

  #fact(result: string, answer: unknown): AuditFact {
    const { audit: action, auditTarget, auditResult, auditActor } = this.#route;
    const { bearer, body, id: request_id } = this.#request;
    const isDone = result === 'ok';
    return {
      actor: bearer?.user ?? (isDone ? auditActor?.(answer) : undefined) ?? loginIn(body),
      token_id: bearer?.tokenId ?? null,
      action,
      target: (isDone ? auditTarget?.(answer) : undefined) ?? targetOf(this.#request),
      result: (isDone ? auditResult?.(answer) : undefined) ?? result,
      address: callerAddress(this.#request),
      request_id,
      subject: { ...subjectOf(action, this.#request, answer), ...this.#object() },
    };
  }

  #object(): AuditSubject {
    const [only, other] = this.#changed;
    return only === undefined || other !== undefined ? {} : { object_id: cut(only.id) };
  }

  /** Returns null unless the request wrote objects. */
  #changes(answer: unknown): Pick<AuditFact, 'objects_changed' | 'changes' | 'are_changes_cut'> | null {
    const { isAuditedByHandOnly = false } = this.#route;
    if (!isAuditedByHandOnly || answer === undefined) return null;
    const { changed, moved } = answer as { readonly changed?: number; readonly moved?: number };
    const objects_changed = changed ?? moved ?? 0;
    const all = this.#changed.flatMap(changesOf);
    const are_changes_cut = all.length > AUDIT_CHANGES_MAX || objects_changed > this.#changed.length;
    return { objects_changed, changes: all.slice(0, AUDIT_CHANGES_MAX), are_changes_cut };
  }
}

/** Attributes, and members inside their values, whose values are not copied. */
const SECRET = /password|passwd|secret|token|api_?key|credential/i;
const HIDDEN = '(hidden)';
const NOTHING: ReadonlyMap<string, string> = new Map();

/** Returns the attributes in which an object differs. */
function changesOf({ id, before, after }: ChangedObject): readonly AuditChange[] {
  const [old, now] = [before ?? NOTHING, after ?? NOTHING];
  const names = [...new Set([...old.keys(), ...now.keys()])].filter((name) => old.get(name) !== now.get(name));
  return names.map((name) => {
    const shown = (value: string | undefined) => {
      if (value === undefined) return null;
      return SECRET.test(name) ? JSON.stringify(HIDDEN) : cut(withoutSecrets(value), AUDIT_VALUE_UNITS_MAX);
    };
    return { object_id: cut(id), attribute: cut(name), old: shown(old.get(name)), new: shown(now.get(name)) };
  });
}

/** Returns the JSON text of a value with its secrets hidden. */
function withoutSecrets(text: string): string {
  if (!SECRET.test(text)) return text;
  return JSON.stringify(parseJson(text), (name, value: unknown) => (SECRET.test(name) ? HIDDEN : value));
}

const NAME_UNITS_MAX = 255;
const CUT_MARK = '…';

function cut(text: string, unitsMax = NAME_UNITS_MAX): string {
  return text.length <= unitsMax ? text : text.slice(0, unitsMax).toWellFormed() + CUT_MARK;
}

type Members = Readonly<Record<string, unknown>>;

/** Returns what a request is about: names in its path, its body and its answer. */
function subjectOf(
  action: string,
  { params, body }: Pick<FastifyRequest, 'params' | 'body'>,
  answer: unknown,
): AuditSubject {
  const [path, given, answered] = [membersOf(params), membersOf(body), membersOf(answer)];
  const attributes = membersOf(given.attributes);
  const isSource = action.startsWith('source.');
  const named = {
    user_id: nameIn(path.user_id, given.user_id, attributes.login, given.user, answered.user_id, answered.user),
    client_id: nameIn(path.client_id, answered.client_id),
    source: nameIn(path.source_name, path.source_id, isSource ? given.name : undefined),
    group: nameIn(path.group, given.group, given.groups),
    name: nameIn(
      path.token_id,
      path.backup,
      path.doc,
      path.job_id,
      path.queue,
      path.sha256,
      isSource ? undefined : given.name,
    ),
  };
  return Object.fromEntries(Object.entries(named).filter(([, name]) => name !== undefined));
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

/** Returns the first name that is given. Of a list of names, all are joined. */
function nameIn(...candidates: readonly unknown[]): string | undefined {
  for (const candidate of candidates) {
    const name = Array.isArray(candidate) ? candidate.filter((one) => typeof one === 'string').join(', ') : candidate;
    if (typeof name === 'string' && name !== '') return cut(name).toWellFormed();
  }
  return undefined;
}

/** Returns the path without its query, because a query may hold secrets. */
function targetOf(request: FastifyRequest): string {
  return (request.url.split('?', 1)[0] ?? '').slice(0, 1_000);
}
