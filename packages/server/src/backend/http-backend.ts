import type {
  Adapter,
  Authenticator,
  ChangeAnswer,
  DeleteCall,
  Log,
  LoginAnswer,
  ObjectsAnswer,
  PersonalCall,
  QueryAnswer,
  QueryCall,
  UpdateCall,
  UploadCall,
} from '@tidemark/core';
import { type BackendFailure, GROUPS_PER_USER_MAX, type JsonValue, nameProblem } from '@tidemark/protocol';
import { isNoSuchCall } from './answer-refusal.ts';
import { type AnswerRead, BackendCalls, type BackendCallsParts, type CallsHealth, isSuccess } from './backend-calls.ts';
import { unusableAnswer } from './read-answer.ts';

export interface HttpBackendParts extends BackendCallsParts {
  /** Returns links to the files that attributes refer to; null: to none. Absent: calls carry no links. */
  readonly fileLinks?: (attributes: unknown) => Promise<object | null>;
}

/** Who checks logins. `unknown`: nobody has logged in since the address was set. */
export type LoginsCheckedBy = 'backend' | 'own_passwords' | 'unknown';

export interface BackendHealth extends CallsHealth {
  readonly loginsCheckedBy: LoginsCheckedBy;
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The backend of a customer, called by `POST {adapter_url}/<call>`. docs/backend/contract.md is the contract. */
export class HttpBackend implements Adapter, Authenticator {
  readonly waitsForFiles = true;
  readonly #parts: HttpBackendParts;
  readonly #calls: BackendCalls;
  /** Who checks logins at which address; null if not known yet. */
  #logins: { readonly address: string; readonly by: LoginsCheckedBy } | null = null;

  constructor(parts: HttpBackendParts) {
    this.#parts = parts;
    this.#calls = new BackendCalls(parts);
  }

  async health(): Promise<BackendHealth> {
    const address = await this.#parts.address();
    const loginsCheckedBy = this.#logins?.address === address ? this.#logins.by : 'unknown';
    return { ...this.#calls.health(address), loginsCheckedBy };
  }

  /** Calls the listener after every call that failed. There is one listener. */
  watchFailures(listener: (failure: BackendFailure) => void): void {
    this.#calls.watchFailures(listener);
  }

  /** Returns the last calls of this process that failed, newest first. */
  get lastFailures(): readonly BackendFailure[] {
    return this.#calls.lastFailures;
  }

  close(): void {
    this.#parts.http.close();
  }

  /**
   * Returns a client for checks of an operator: it has its own breakers, so that it calls also while the breakers of
   * this one are open, and it neither logs nor counts. With `secret` it signs by that secret.
   */
  probe(secret?: string): HttpBackend {
    const { onCall: _onCall, onBreaker: _onBreaker, ...parts } = this.#parts;
    return new HttpBackend({ ...parts, log: SILENT, ...(secret === undefined ? {} : { secret: async () => secret }) });
  }

  async authenticate(login: string, password: string): Promise<LoginAnswer> {
    const address = await this.#parts.address();
    const answer = await this.#calls.exchange('authenticate', { login, password }, (read) => loginAnswer(login, read));
    if (address !== null) this.#logLoginChecker(address, answer);
    return answer;
  }

  async query({ source, user, partition: group }: QueryCall): Promise<QueryAnswer> {
    const partition = group === undefined ? (user === null ? 'app' : 'user') : 'group';
    const body = { source, user_id: user, partition, ...(group === undefined ? {} : { group }) };
    return this.#calls.query(body);
  }

  async search(call: PersonalCall & { readonly params: JsonValue }): Promise<ObjectsAnswer> {
    const { source, user, partition: group, params } = call;
    const body = { source, user_id: user, ...(group === undefined ? {} : { group }), params };
    return this.#calls.search(body);
  }

  async create(call: UploadCall & { readonly attributes: JsonValue }): Promise<string> {
    const { attributes } = call;
    const body = { ...uploadOf(call), attributes, ...(await this.#filesIn(attributes)) };
    return this.#calls.exchange('create', body, ({ answer: { id } }) => {
      if (typeof id === 'string' && nameProblem('object', id) === null) return id;
      throw unusableAnswer('it has no object id');
    });
  }

  async update(call: UpdateCall): Promise<ChangeAnswer> {
    const { attributes, removed } = call;
    // Absent unless something is removed, for backends that refuse members they do not know.
    const changed = { ...uploadOf(call), attributes, ...(removed.length === 0 ? {} : { removed }), ...seenOf(call) };
    const body = { ...changed, ...(await this.#filesIn(attributes)) };
    return this.#calls.exchange('update', body, changeAnswer);
  }

  async delete(call: DeleteCall): Promise<ChangeAnswer> {
    return this.#calls.exchange('delete', { ...uploadOf(call), ...seenOf(call) }, changeAnswer);
  }

  /** Absent unless there are files, for backends that refuse members they do not know. */
  async #filesIn(attributes: JsonValue): Promise<{ readonly files?: object }> {
    const files = await this.#parts.fileLinks?.(attributes);
    return files == null ? {} : { files };
  }

  /** Logs who checks logins when it changes, not at every login. */
  #logLoginChecker(address: string, answer: LoginAnswer): void {
    const by = answer.kind === 'not_handled' ? 'own_passwords' : 'backend';
    const before = this.#logins?.address === address ? this.#logins.by : 'unknown';
    this.#logins = { address, by };
    if (answer.kind === 'not_handled' && before !== by) {
      const reason = `the backend answers ${answer.status} to authenticate`;
      this.#parts.log.warn('logins_checked_by_own_passwords', { reason });
    } else if (before === 'own_passwords' && by === 'backend') this.#parts.log.info('logins_checked_by_backend');
  }
}

function loginAnswer(login: string, { answer: { user_id, groups }, status }: AnswerRead): LoginAnswer {
  if (isNoSuchCall(status)) return { kind: 'not_handled', status };
  if (!isSuccess(status)) return { kind: 'refused' };
  const user = user_id ?? login;
  if (typeof user !== 'string' || nameProblem('login', user) !== null) {
    throw unusableAnswer('user_id is not a valid login');
  }
  if (groups === undefined || groups === null) return { kind: 'user', user };
  if (isGroupList(groups)) return { kind: 'user', user, groups };
  throw unusableAnswer(`groups is not a list of at most ${GROUPS_PER_USER_MAX} names of groups`);
}

function isGroupList(groups: unknown): groups is readonly string[] {
  if (!Array.isArray(groups) || groups.length > GROUPS_PER_USER_MAX) return false;
  return groups.every((group) => typeof group === 'string' && nameProblem('group', group) === null);
}

function uploadOf({ source, user, partition: group, opId, id }: UploadCall) {
  return { source, user_id: user, ...(group === undefined ? {} : { group }), op_id: opId, id };
}

function seenOf({ seen }: DeleteCall) {
  return seen === undefined ? {} : { seen };
}

function changeAnswer({ answer }: AnswerRead): ChangeAnswer {
  return { isPushed: answer.pushed === true };
}
