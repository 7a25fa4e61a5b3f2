/** What happens in a history of devices. Everything follows from the seed. */
export type Step =
  | { readonly kind: 'backend_put'; readonly place: Place; readonly ids: readonly number[]; readonly value: number }
  | { readonly kind: 'backend_delete'; readonly place: Place; readonly ids: readonly number[] }
  | { readonly kind: 'create'; readonly device: number; readonly source: SourceName }
  | { readonly kind: 'update'; readonly device: number; readonly source: SourceName; readonly pick: number }
  | { readonly kind: 'delete'; readonly device: number; readonly source: SourceName; readonly pick: number }
  /** A change of an object that belongs to the backend and to everybody. */
  | { readonly kind: 'touch'; readonly device: number; readonly source: SourceName; readonly pick: number }
  | { readonly kind: 'sync'; readonly device: number }
  | { readonly kind: 'offline'; readonly device: number }
  | { readonly kind: 'online'; readonly device: number }
  /** The process of the device dies; with `during`, while a change is being kept. */
  | { readonly kind: 'kill_device'; readonly device: number; readonly during: boolean }
  | { readonly kind: 'kill_server' }
  | { readonly kind: 'let_go'; readonly turns: number };

export type SourceName = 'Order' | 'Product';

/** The data of a source: of one user, or of all. */
export interface Place {
  readonly source: SourceName;
  /** Null: shared. */
  readonly user: string | null;
}

export interface History {
  readonly seed: number;
  /** The user of each device. */
  readonly users: readonly string[];
  readonly pageObjects: number;
  readonly steps: readonly Step[];
}

export const USERS = ['ada', 'bob'] as const;
export const SOURCES: readonly SourceName[] = ['Order', 'Product'];

export function placeOf(source: SourceName, user: string): Place {
  return { source, user: source === 'Product' ? null : user };
}
