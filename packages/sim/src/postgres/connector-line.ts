import type { Mapping } from '@tidemark/postgres';
import type { PlantName } from './plants.ts';

/** What a connector process is started with. */
export interface ConnectorTerms {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly databaseUrl: string;
  readonly mapping: Mapping;
  readonly batchRowsMax: number;
  readonly plant: PlantName | null;
}

/** What a connector process writes. */
export type ConnectorLine =
  | { readonly say: 'position'; readonly position: string }
  | { readonly say: 'beat' }
  | { readonly say: 'healed'; readonly reason: string }
  | { readonly say: 'problem'; readonly table: string; readonly key: string; readonly reason: string }
  /** A run has ended with an error, and another one follows. */
  | { readonly say: 'interrupted'; readonly reason: string; readonly code: string | null };
