import { type Flaw, pointer, REFUSALS, Refusal, type RefusalCode } from '@tidemark/protocol';

/** A problem as in RFC 9457, the form of all refusals. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: RefusalCode;
  readonly hint?: string;
  readonly request_id: string;
  readonly errors?: readonly Flaw[];
}

/** Advice that follows from the code alone. */
const HINTS: Partial<Record<RefusalCode, string>> = {
  not_found: 'check the path for typing errors, and for a prefix that a proxy added or removed',
  method_not_allowed: 'use one of the methods in the Allow header',
  token_missing: 'log in at POST /rc/v1/system/login and send the token as X-Sync-API-TOKEN or Authorization: Bearer',
  token_invalid: 'log in again',
  unsupported_media_type: 'send uncompressed JSON with Content-Type: application/json, unless the route takes files',
  internal: 'report it with the log lines of this request_id',
};

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const hint = HINTS[refusal.code];
  return {
    type: `urn:tidemark:problem:${refusal.code}`,
    title: REFUSALS[refusal.code].title,
    status: refusal.status,
    detail: refusal.message,
    code: refusal.code,
    ...(hint === undefined ? {} : { hint }),
    request_id: requestId,
    ...(refusal.flaws.length === 0 ? {} : { errors: refusal.flaws }),
  };
}

/** An error of fastify for a request that cannot be read or does not match its schema. */
interface FrameworkError extends Error {
  readonly statusCode?: number;
  readonly validation?: readonly SchemaFlaw[];
  readonly validationContext?: string;
}

interface SchemaFlaw {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params: { readonly missingProperty?: unknown; readonly additionalProperty?: unknown };
}

/**
 * Turns an error into a refusal: errors of fastify are mistakes of the caller and keep their message, all others are
 * internal.
 */
export function refusalOf(error: FrameworkError): Refusal {
  if (error instanceof Refusal) return error;
  if (error.validation !== undefined) return schemaRefusal(error.validation, error.validationContext ?? 'request');
  const status = error.statusCode ?? 500;
  if (status === 413) return new Refusal('body_too_large', 'the body is larger than the limit');
  if (status === 414) return new Refusal('uri_too_long', 'a segment of the path is too long');
  if (status === 415) return new Refusal('unsupported_media_type', 'the body must be application/json');
  if (status === 503) return new Refusal('overloaded', 'the server is overloaded', [], 1);
  if (status >= 400 && status < 500) return new Refusal('invalid_request', error.message);
  return new Refusal('internal', 'internal error');
}

function schemaRefusal(validation: readonly SchemaFlaw[], context: string): Refusal {
  const flaws = validation.map(flawOf);
  const [first] = flaws;
  const place = first === undefined || first.pointer === '' ? '' : ` at ${first.pointer}`;
  return new Refusal('invalid_request', `the ${context}${place} ${first?.detail ?? 'does not fit'}`, flaws);
}

function flawOf({ instancePath, message, params }: SchemaFlaw): Flaw {
  const { missingProperty, additionalProperty } = params;
  if (typeof missingProperty === 'string')
    return { pointer: instancePath + pointer(missingProperty), detail: 'is missing' };
  if (typeof additionalProperty === 'string')
    return { pointer: instancePath + pointer(additionalProperty), detail: 'is an unknown field' };
  return { pointer: instancePath, detail: message ?? 'does not fit' };
}
