import { parseJson } from '@tidemark/protocol';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer, Outgoing } from '../kit/sender.ts';
import {
  type ApiDocument,
  type ApiResponse,
  type Endpoint,
  endpointFor,
  endpointsOf,
  resolved,
} from './api-document.ts';
import { linesOf } from './check-answer.ts';

const ROOT = 'urn:tidemark:api';

/** Checks answers of a server against its OpenAPI document. */
export class AnswerChecker {
  readonly #document: ApiDocument;
  readonly #endpoints: readonly Endpoint[];
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  constructor(document: ApiDocument) {
    this.#document = document;
    this.#endpoints = endpointsOf(document);
    addFormats.default(this.#ajv);
    // References in the document begin with `#/`, so they are resolved in the document itself.
    this.#ajv.addSchema({ ...document, $id: ROOT });
  }

  /** Returns how an answer differs from the document; empty: it fits. */
  check({ method, path }: Outgoing, { status, headers, text }: Answer): readonly string[] {
    const endpoint = endpointFor(this.#endpoints, method, path);
    const type = (headers['content-type'] ?? '').split(';', 1)[0] ?? '';
    // The document does not describe unknown routes; only the form of the refusal is checked.
    if (endpoint !== null && type === '' && isBare(this.#document, endpoint, status)) return [];
    const place = endpoint === null ? PROBLEM : contentOf(this.#document, endpoint, status, type);
    if (place === null) return [`${method} ${endpoint?.template} is not said to answer ${status} ${type}`];
    if (method === 'HEAD' || (endpoint === null && type !== 'application/problem+json')) return [];
    const values = type === 'application/x-ndjson' ? linesOf(text) : [/\bjson$/.test(type) ? parseJson(text) : text];
    return values.flatMap((value) => this.#problems(place, value));
  }

  /** Returns whether a value is a problem as the document describes it. */
  problemFlaws(value: unknown): readonly string[] {
    return this.#problems(PROBLEM, value);
  }

  #problems(place: readonly string[], value: unknown): readonly string[] {
    const pointer = place.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'));
    const reference = `${ROOT}#/${pointer.map(encodeURIComponent).join('/')}`;
    const validate = this.#validators.get(reference) ?? this.#ajv.compile({ $ref: reference });
    this.#validators.set(reference, validate);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the body'} ${message}`);
  }
}

const PROBLEM = ['components', 'schemas', 'Problem'] as const;

/** True if the document says that an answer with this status has no body. */
function isBare(document: ApiDocument, { template, method }: Endpoint, status: number): boolean {
  const place = ['paths', template, method.toLowerCase(), 'responses', String(status)];
  const response = resolved(document, place).value as ApiResponse | undefined;
  return response !== undefined && response.content === undefined;
}

/** Returns the path of the schema of an answer in the document. */
function contentOf(
  document: ApiDocument,
  { template, method }: Endpoint,
  status: number,
  type: string,
): readonly string[] | null {
  for (const key of [String(status), `${Math.floor(status / 100)}XX`, 'default']) {
    const { place, value } = resolved(document, ['paths', template, method.toLowerCase(), 'responses', key]);
    const content = (value as ApiResponse | undefined)?.content;
    if (content !== undefined) return content[type] === undefined ? null : [...place, 'content', type, 'schema'];
  }
  return null;
}
