import { type JsonValue, parseJson } from '@tidemark/protocol';
import type { Attributes } from '../push/objects.ts';
import type {
  AuthenticateCall,
  CreateCall,
  DeleteCall,
  FileLink,
  QueryCall,
  SearchCall,
  UpdateCall,
  UploadCall,
} from './source-handlers.ts';

export type CallName = 'authenticate' | 'query' | 'create' | 'update' | 'delete' | 'search';

/** A valid call. Fields that the call does not have are null. */
export type ReadCall =
  | { readonly name: 'authenticate'; readonly call: AuthenticateCall }
  | { readonly name: 'query'; readonly call: QueryCall }
  | { readonly name: 'search'; readonly call: SearchCall }
  | { readonly name: 'create'; readonly call: CreateCall }
  | { readonly name: 'update'; readonly call: UpdateCall }
  | { readonly name: 'delete'; readonly call: DeleteCall };

const CALL_NAMES: ReadonlySet<string> = new Set(['authenticate', 'query', 'create', 'update', 'delete', 'search']);

export function isCallName(name: string): name is CallName {
  return CALL_NAMES.has(name);
}

/** Says what is wrong with a call, as a continuation of "the call …". */
export class CallFlaw extends Error {
  override readonly name = 'CallFlaw';
}

/** Ignores unknown fields, which a newer Tidemark may send. */
export function readCall(name: CallName, bytes: Uint8Array): ReadCall {
  const fields = parsed(bytes);
  switch (name) {
    case 'authenticate':
      return { name, call: { login: text(fields, 'login'), password: text(fields, 'password') } };
    case 'query':
      return {
        name,
        call: {
          source: text(fields, 'source'),
          user_id: optionalText(fields, 'user_id'),
          partition: optionalText(fields, 'partition'),
          ...group(fields),
        },
      };
    case 'search':
      return { name, call: { ...target(fields), params: (fields.get('params') ?? null) as JsonValue } };
    case 'delete':
      return { name, call: { ...upload(fields), ...seen(fields) } };
    case 'update':
      return {
        name,
        call: {
          ...upload(fields),
          attributes: attributes(fields),
          removed: names(fields, 'removed'),
          ...files(fields),
          ...seen(fields),
        },
      };
    default:
      return { name, call: { ...upload(fields), attributes: attributes(fields), ...files(fields) } };
  }
}

function target(fields: Fields) {
  return { source: text(fields, 'source'), user_id: text(fields, 'user_id'), ...group(fields) };
}

/** Only calls about sources of groups name one. */
function group(fields: Fields): { readonly group?: string } {
  const name = optionalText(fields, 'group');
  return name === null ? {} : { group: name };
}

function upload(fields: Fields): UploadCall {
  return {
    ...target(fields),
    op_id: text(fields, 'op_id'),
    id: text(fields, 'id'),
  };
}

type Fields = ReadonlyMap<string, unknown>;

function parsed(bytes: Uint8Array): Fields {
  try {
    const value: unknown = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return new Map(Object.entries(value));
  } catch {
    // Told below.
  }
  throw new CallFlaw('is not a JSON object');
}

function text(fields: Fields, name: string): string {
  const value = fields.get(name);
  if (typeof value === 'string' && value !== '') return value;
  throw new CallFlaw(`has no ${name}`);
}

function optionalText(fields: Fields, name: string): string | null {
  const value = fields.get(name) ?? null;
  if (value === null || typeof value === 'string') return value;
  throw new CallFlaw(`has a ${name} that is no text`);
}

/** Absent: none. */
function names(fields: Fields, name: string): readonly string[] {
  const value = fields.get(name) ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new CallFlaw(`has a ${name} that is no list of texts`);
}

function seen(fields: Fields): { readonly seen?: Attributes } {
  return (fields.get('seen') ?? null) === null ? {} : { seen: attributes(fields, 'seen') };
}

function files(fields: Fields): { readonly files?: Readonly<Record<string, FileLink>> } {
  const value = fields.get('files') ?? null;
  if (value === null) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return { files: value as Readonly<Record<string, FileLink>> };
  throw new CallFlaw('has files that are no object of links');
}

function attributes(fields: Fields, name = 'attributes'): Attributes {
  const value = fields.get(name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Attributes;
  throw new CallFlaw(name === 'attributes' ? 'has no attributes' : `has a ${name} that is no object of attributes`);
}

/** Returns the bytes of a body, or null when there are more than allowed. */
export async function readBody(request: Request, bytesMax: number): Promise<Uint8Array | null> {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return null;
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of request.body ?? []) {
    bytes += piece.length;
    if (bytes > bytesMax) return null;
    pieces.push(piece);
  }
  const whole = new Uint8Array(bytes);
  let offset = 0;
  for (const piece of pieces) {
    whole.set(piece, offset);
    offset += piece.length;
  }
  return whole;
}
