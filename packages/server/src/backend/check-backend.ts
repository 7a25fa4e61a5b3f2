import { LoggedFailure, type QueryCall, type SourceView, type Tidemark } from '@tidemark/core';
import { errorMessage } from '@tidemark/protocol';
import type { AppserverCheck, AppserverChecks } from '@tidemark/protocol/admin/system';
import { BACKEND_CHECK_SOURCES_MAX } from '../limits.ts';
import { SignatureRefused } from './answer-refusal.ts';
import type { HttpBackend } from './http-backend.ts';

export interface CheckBackendParts {
  readonly tidemark: Pick<Tidemark, 'system' | 'sources' | 'groups' | 'users' | 'objects'>;
  readonly backend: Pick<HttpBackend, 'probe'>;
  /** The user whose data is queried, for sources with data of users. */
  readonly user: string;
}

/** The name by which a source refers to the backend at `adapter_url`. */
const BACKEND = 'backend';
const NAME_BYTES = 12;
const CANNOT_EXIST = 'tidemark-check';

/**
 * Calls the backend as Tidemark would, and reports problems with reachability, the signature, logins, and each
 * source.
 */
export async function checkBackend(parts: CheckBackendParts): Promise<AppserverChecks> {
  const { adapter_url: url } = await parts.tidemark.system.appserver();
  if (url === null) return { checks: [{ name: 'address', status: 'ok', detail: 'no backend is set' }] };
  const logins = await checkLogins(parts, url);
  const isReached = logins.every(({ name, status }) => name !== 'reachable' || status === 'ok');
  if (!isReached) return { checks: [...logins] };
  const asked = (await parts.tidemark.sources.list()).filter(({ adapter }) => adapter === BACKEND);
  const sources: AppserverCheck[] = [];
  for (const source of asked.slice(0, BACKEND_CHECK_SOURCES_MAX)) sources.push(await checkSource(parts, source));
  const [first] = asked;
  const signature = await checkSignature(parts, logins, first);
  return { checks: [...logins.filter(({ name }) => name !== 'signature'), signature, ...sources] };
}

/**
 * Tries a login that cannot exist: the answer shows whether the backend is reachable, accepts the signature and
 * checks logins.
 */
async function checkLogins({ backend }: CheckBackendParts, url: string): Promise<readonly AppserverCheck[]> {
  const reachable: AppserverCheck = { name: 'reachable', status: 'ok', detail: `${url} answers` };
  const name = 'logins';
  try {
    const answer = await backend.probe().authenticate(`${CANNOT_EXIST}-${randomName()}`, randomName());
    if (answer.kind === 'refused') return [reachable, { name, status: 'ok', detail: 'are checked by the backend' }];
    if (answer.kind === 'not_handled') {
      const detail = `are checked by the stored passwords: the backend answers ${answer.status} to authenticate`;
      return [reachable, { name, status: 'ok', detail }];
    }
    const detail = 'the backend accepts a login that cannot exist: anybody can log in';
    return [reachable, { name, status: 'failed', detail }];
  } catch (error) {
    if (isSignatureRefused(error)) return [reachable, { name: 'signature', status: 'failed', detail: WRONG_SECRET }];
    const isGone = error instanceof LoggedFailure && GONE.has(error.code);
    if (isGone) return [{ name: 'reachable', status: 'failed', detail: `${url}: ${error.message}` }];
    return [reachable, { name, status: 'failed', detail: `authenticate: ${errorMessage(error)}` }];
  }
}

const GONE: ReadonlySet<string> = new Set(['backend_unavailable', 'backend_timeout']);
const WRONG_SECRET =
  'the backend does not accept the signature; compare its secret with what tidemark appserver secret shows, and the clocks';

/** Checks that the backend refuses a wrong signature: otherwise it gives its data to anybody. */
async function checkSignature(
  parts: CheckBackendParts,
  logins: readonly AppserverCheck[],
  source: SourceView | undefined,
): Promise<AppserverCheck> {
  const known = logins.find(({ name }) => name === 'signature');
  if (known !== undefined) return known;
  const name = 'signature';
  if (source === undefined) return { name, status: 'ok', detail: 'is accepted' };
  const unsigned = parts.backend.probe(`a secret that nobody has ${randomName()}`);
  try {
    await readAll(await unsigned.query(await queryOf(parts, source)));
  } catch (error) {
    if (isSignatureRefused(error)) return { name, status: 'ok', detail: 'is accepted, and a wrong one is refused' };
    return { name, status: 'ok', detail: 'is accepted' };
  }
  const detail =
    'the backend also answers calls with a wrong signature: whoever reaches it can read and change its data';
  return { name, status: 'warning', detail };
}

async function checkSource(parts: CheckBackendParts, source: SourceView): Promise<AppserverCheck> {
  const name = `source ${source.name}`;
  const call = await queryOf(parts, source);
  const whose = call.partition ?? call.user;
  const forWhom = whose === null ? '' : ` for ${whose}`;
  try {
    const answer = await parts.backend.probe().query(call);
    if ('isUnchanged' in answer)
      return { name, status: 'ok', detail: `query${forWhom}: the backend pushes every change` };
    const count = await parts.tidemark.objects.checkAnswer(answer);
    return { name, status: 'ok', detail: `query${forWhom} returned ${count} objects` };
  } catch (error) {
    return { name, status: 'failed', detail: `query${forWhom}: ${errorMessage(error)}` };
  }
}

/** A source of groups is queried for the first group that has members. */
async function queryOf({ tidemark, user }: CheckBackendParts, source: SourceView): Promise<QueryCall> {
  const { name, partition_type } = source;
  if (partition_type !== 'group') return { source: name, user: partition_type === 'app' ? null : user };
  const [group = 'group'] = await tidemark.groups.list({ limit: 1 });
  return { source: name, user: null, partition: group };
}

async function readAll(answer: Awaited<ReturnType<HttpBackend['query']>>): Promise<void> {
  if (!('chunks' in answer)) return;
  for await (const _chunk of answer.chunks) {
    // Only the arrival of the answer matters.
  }
}

function isSignatureRefused(error: unknown): boolean {
  return error instanceof LoggedFailure && error.cause instanceof SignatureRefused;
}

function randomName(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(NAME_BYTES))).toString('base64url');
}
