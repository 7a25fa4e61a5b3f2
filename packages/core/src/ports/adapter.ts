import type { JsonValue } from '@tidemark/protocol';

/**
 * The way to a customer's backend for one source. Answers are not trusted: admission looks at every object. Any
 * rejection that is not an `AdapterRefusal` counts as passing trouble and is tried again.
 */
export interface Adapter {
  query(call: AdapterCall): Promise<unknown>;
  /** Answers the backend's id for the object. */
  create(call: UploadCall & { readonly attributes: JsonValue }): Promise<string>;
  update(call: UploadCall & { readonly attributes: JsonValue }): Promise<void>;
  delete(call: UploadCall): Promise<void>;
  search?(call: AdapterCall & { readonly params: JsonValue }): Promise<unknown>;
}

export interface AdapterCall {
  readonly source: string;
  readonly user: string | null;
}

export interface UploadCall extends AdapterCall {
  /** The same for every attempt at one upload, so that the backend can tell a repetition. */
  readonly opId: string;
  readonly id: string;
}

/** The backend said no, and will say it again. */
export class AdapterRefusal extends Error {
  override readonly name = 'AdapterRefusal';
  readonly kind: 'conflict' | 'rejected';

  constructor(kind: 'conflict' | 'rejected', detail: string) {
    super(detail);
    this.kind = kind;
  }
}
