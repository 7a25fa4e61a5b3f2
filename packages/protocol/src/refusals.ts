/**
 * The catalogue of error codes. A code is stable once released. `status` is the HTTP status; `title` is the same for every
 * occurrence, and the detail of a `Refusal` names the particular value and rule.
 */
export const REFUSALS = {
  invalid_request: { status: 400, title: 'The request does not have the required form' },
  invalid_json: { status: 400, title: 'The body is not JSON' },
  duplicate_id: { status: 400, title: 'An id occurs twice' },
  forbidden_key: { status: 400, title: 'A key is not allowed' },
  group_required: { status: 400, title: 'The call must name a group' },
  too_deep: { status: 400, title: 'A value is nested too deeply' },
  invalid_credentials: { status: 401, title: 'Login or password is wrong' },
  token_missing: { status: 401, title: 'A token is required' },
  token_invalid: { status: 401, title: 'The token is not valid' },
  token_expired: { status: 401, title: 'The token of the device has expired' },
  token_revoked: { status: 401, title: 'The device was signed out' },
  password_changed: { status: 401, title: 'The password has changed since the device signed in' },
  client_deleted: { status: 401, title: 'The device was deleted' },
  id_token_invalid: { status: 401, title: 'The token of the identity provider cannot be used' },
  id_token_algorithm: { status: 401, title: 'The token is signed with an algorithm that is not accepted' },
  id_token_issuer: { status: 401, title: 'The token is from an unknown identity provider' },
  id_token_key_unknown: { status: 401, title: 'The token is signed with an unknown key' },
  id_token_signature: { status: 401, title: 'The signature of the token is wrong' },
  id_token_audience: { status: 401, title: 'The token is for another application' },
  id_token_expired: { status: 401, title: 'The token of the identity provider has expired' },
  id_token_not_yet_valid: { status: 401, title: 'The token of the identity provider is not valid yet' },
  invite_invalid: { status: 401, title: 'The invite cannot be used' },
  id_token_nonce: { status: 401, title: 'The token is for another sign-in' },
  sign_in_expired: { status: 401, title: 'The sign-in took too long' },
  sign_in_code_refused: { status: 401, title: 'The identity provider refused the code' },
  sign_in_state_invalid: { status: 403, title: 'The sign-in was not begun in this browser' },
  role_missing: { status: 403, title: 'No role allows administration' },
  sign_in_not_configured: { status: 404, title: 'Administrators cannot sign in with an identity provider' },
  id_token_claims: { status: 403, title: 'The token lacks a required claim' },
  identity_unknown: { status: 403, title: 'No user has this identity' },
  forbidden: { status: 403, title: 'The caller may not do this' },
  not_a_member: { status: 403, title: 'The user is not a member of the group' },
  app_too_old: { status: 403, title: 'The app was built with a version of the schema that is not served any more' },
  reset_disabled: { status: 403, title: 'Reset is disabled by configuration' },
  source_read_only: { status: 403, title: 'Devices cannot change the source' },
  not_found: { status: 404, title: 'There is nothing at this address' },
  source_not_found: { status: 404, title: 'No such source' },
  user_not_found: { status: 404, title: 'No such user' },
  client_not_found: { status: 404, title: 'No such client' },
  doc_not_found: { status: 404, title: 'No such document' },
  metric_not_found: { status: 404, title: 'No such metric' },
  ping_not_found: { status: 404, title: 'No such ping' },
  token_not_found: { status: 404, title: 'No such token' },
  object_not_found: { status: 404, title: 'No such object' },
  backup_not_found: { status: 404, title: 'No such backup' },
  schema_not_found: { status: 404, title: 'The source has no schema' },
  connector_not_found: { status: 404, title: 'No such connector' },
  job_not_found: { status: 404, title: 'No such job' },
  file_not_found: { status: 404, title: 'No such file' },
  upload_not_found: { status: 404, title: 'No such upload of a file' },
  search_not_available: { status: 404, title: 'The source cannot be searched' },
  method_not_allowed: { status: 405, title: 'The address does not support this method' },
  request_timeout: { status: 408, title: 'The request took too long' },
  identity_conflict: { status: 409, title: 'The login belongs to another identity' },
  user_exists: { status: 409, title: 'The login is taken' },
  client_exists: { status: 409, title: 'The client id is taken' },
  source_exists: { status: 409, title: 'The source name is taken' },
  object_exists: { status: 409, title: 'The object id is taken' },
  object_changed: { status: 409, title: 'Somebody else has changed the object' },
  dependency_rejected: { status: 409, title: 'An upload it depends on was rejected' },
  schema_breaking: { status: 409, title: 'The new schema breaks apps in use' },
  schema_converting: { status: 409, title: 'Objects are still being converted to the present schema' },
  snapshot_required: { status: 409, title: 'The source is only available as a snapshot' },
  connector_not_configured: { status: 409, title: 'The server does not run the connector' },
  backup_not_offered: { status: 409, title: 'The store is backed up with its own tools' },
  job_not_idle: { status: 409, title: 'The state of the job does not allow this' },
  last_admin: { status: 409, title: 'The last administrator cannot be removed' },
  type_conflict: { status: 409, title: 'The document holds content of another type' },
  write_conflict: { status: 409, title: 'Other writers kept changing the same objects' },
  refresh_stale: { status: 409, title: 'The partition was trimmed while the backend answered' },
  wipe_not_ordered: { status: 409, title: 'Nobody has ordered to erase the device' },
  wrong_offset: { status: 409, title: 'The upload goes on at another byte' },
  client_wiped: { status: 410, title: 'The device must erase its data' },
  tus_version: { status: 412, title: 'The version of the upload protocol is not spoken' },
  file_too_large: { status: 413, title: 'The file is too large' },
  range_not_satisfiable: { status: 416, title: 'The range begins behind the end of the file' },
  body_too_large: { status: 413, title: 'The request is too large' },
  id_token_too_large: { status: 413, title: 'The token of the identity provider is too large' },
  uri_too_long: { status: 414, title: 'The address is too long' },
  unsupported_media_type: { status: 415, title: 'The body is in a format that is not accepted' },
  document_too_large: { status: 413, title: 'The document would become too large' },
  invalid_name: { status: 422, title: 'A name is not allowed' },
  invalid_value: { status: 422, title: 'A value is not allowed' },
  unsafe_number: { status: 422, title: 'A number cannot be stored exactly' },
  limit_exceeded: { status: 422, title: 'A limit is exceeded' },
  reserved_attribute: { status: 422, title: 'An attribute is reserved' },
  immutable_attribute: { status: 422, title: 'An attribute cannot change' },
  schema_violation: { status: 422, title: 'An attribute does not fit the schema of the source' },
  schema_version_unknown: { status: 422, title: 'The server has no such version of the schema' },
  not_translatable: { status: 422, title: 'The change has no counterpart in the present schema' },
  upload_rejected: { status: 422, title: 'The backend rejected the change' },
  url_not_allowed: { status: 422, title: 'The URL is not allowed' },
  file_hash_mismatch: { status: 422, title: 'The bytes of the file have another hash' },
  upload_locked: { status: 423, title: 'Another call works on the upload' },
  too_many_uploads: { status: 429, title: 'Too many uploads of files are unfinished' },
  checksum_mismatch: { status: 460, title: 'The bytes have another checksum' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Internal error' },
  backend_error: { status: 502, title: 'The backend gave no usable answer' },
  backend_unavailable: { status: 503, title: 'The backend cannot be reached' },
  issuer_unavailable: { status: 503, title: 'The identity provider cannot be reached' },
  file_busy: { status: 503, title: 'The file is being removed' },
  refresh_pending: { status: 503, title: 'The backend has not answered yet' },
  overloaded: { status: 503, title: 'The server is overloaded' },
  queue_full: { status: 503, title: 'The job queue is full' },
  store_unavailable: { status: 503, title: 'The store does not answer' },
  backend_timeout: { status: 504, title: 'The backend did not answer in time' },
  quota_exceeded: { status: 507, title: 'The quota is used up' },
  store_full: { status: 507, title: 'The disk is full' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type RefusalCode = keyof typeof REFUSALS;

/** One invalid part of a request; `pointer` is a JSON pointer (RFC 6901) to it. */
export interface Flaw {
  readonly pointer: string;
  readonly detail: string;
}

/** An expected error with a code of the catalogue. Bugs throw other errors. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly flaws: readonly Flaw[];
  /** When to try again; null: unknown. */
  readonly retryAfterS: number | null;

  constructor(code: RefusalCode, detail: string, flaws: readonly Flaw[] = [], retryAfterS: number | null = null) {
    super(detail);
    this.code = code;
    this.flaws = flaws;
    this.retryAfterS = retryAfterS;
  }

  get status(): number {
    return REFUSALS[this.code].status;
  }
}

/** Builds a JSON pointer from its parts. */
export function pointer(...parts: readonly (string | number)[]): string {
  return parts.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns the message of an error, or the text of whatever else was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
