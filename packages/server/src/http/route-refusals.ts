import type { RefusalCode } from '@tidemark/protocol';
import type { Operation } from './route.ts';

/** Paths that are answered also under overload, because operators and load balancers watch the server by them. */
export const ALWAYS_ANSWERED: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz', '/metrics']);

/** Codes that any request can be refused with, independent of its route. */
const ALWAYS: readonly RefusalCode[] = [
  'invalid_request',
  'request_timeout',
  'uri_too_long',
  'unsupported_media_type',
  'headers_too_large',
  'internal',
];
const WITH_TOKEN: readonly RefusalCode[] = ['token_missing', 'token_invalid', 'forbidden', 'rate_limited'];
/** Every call of a device checks that the device is still there, and need not erase itself. */
const OF_DEVICE: readonly RefusalCode[] = [
  'client_not_found',
  'client_wiped',
  'token_expired',
  'token_revoked',
  'password_changed',
  'client_deleted',
];
const WITH_BODY: readonly RefusalCode[] = [
  'invalid_json',
  'duplicate_id',
  'too_deep',
  'body_too_large',
  'limit_exceeded',
];
/** A body is read also where none is expected, and must be JSON. */
const WITH_STRAY_BODY: readonly RefusalCode[] = ['invalid_json', 'too_deep', 'duplicate_id', 'body_too_large'];
const WRITING: readonly RefusalCode[] = ['write_conflict', 'store_full'];
const BY_PARAM: Readonly<Record<string, readonly RefusalCode[]>> = {
  user_id: ['invalid_name', 'user_not_found'],
  source_id: ['invalid_name', 'source_not_found', 'group_required'],
  source_name: ['invalid_name', 'source_not_found'],
  name: ['invalid_name', 'source_not_found'],
  client_id: ['invalid_name', 'client_not_found'],
  group: ['invalid_name'],
  doc: ['invalid_name', 'doc_not_found'],
  partition_type: ['invalid_value'],
  token_id: ['token_not_found'],
  ping_id: ['ping_not_found'],
  queue: ['invalid_name'],
  job_id: ['job_not_found'],
  connector: ['invalid_name', 'connector_not_found'],
  backup: ['backup_not_found', 'backup_not_offered'],
};
const BY_QUERY: Readonly<Record<string, readonly RefusalCode[]>> = {
  after: ['invalid_value'],
  limit: ['invalid_value'],
};

/** Codes of objects and values that admission checks. */
export const OBJECT_REFUSALS: readonly RefusalCode[] = [
  'forbidden_key',
  'invalid_name',
  'invalid_value',
  'unsafe_number',
];

/** Codes of calls that may have to ask a source module for the partition of a user. */
export const MEMBERSHIP_REFUSALS: readonly RefusalCode[] = ['backend_error', 'backend_timeout'];

/** Returns all codes of a route: those that follow from its scope, parameters and body, and its own. */
export function refusalsOf(operation: Operation): readonly RefusalCode[] {
  const { method, path, scope, params, query, body, refusals = [] } = operation;
  const codes: RefusalCode[] = [
    ...ALWAYS,
    ...(ALWAYS_ANSWERED.has(path) ? [] : (['overloaded'] as const)),
    ...(scope === 'public' && method === 'GET' ? [] : (['store_unavailable'] as const)),
    ...(scope === 'public' ? [] : WITH_TOKEN),
    ...(scope === 'device' ? OF_DEVICE : []),
    ...(body !== undefined ? WITH_BODY : method === 'GET' ? [] : WITH_STRAY_BODY),
    ...(method === 'GET' ? [] : WRITING),
    ...namesIn(params).flatMap((name) => BY_PARAM[name] ?? []),
    ...namesIn(query).flatMap((name) => BY_QUERY[name] ?? []),
    ...refusals,
  ];
  return [...new Set(codes)];
}

function namesIn(schema: object | undefined): readonly string[] {
  const { properties = {} } = (schema ?? {}) as { readonly properties?: object };
  return Object.keys(properties);
}
