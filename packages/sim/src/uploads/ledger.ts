import type { Upload } from '@tidemark/protocol';
import { type UploadRule, Violation } from '../runner/violation.ts';

/** An upload as the model knows it. */
export interface ModelUpload {
  readonly upload: Upload;
  /** Increases with every upload and every edit in the backend. */
  readonly number: number;
  /** The person who made it: a login, and which of its successive owners. */
  readonly person: string;
  readonly user: string;
  readonly client: string;
  /** The create that made the object, if this device made it; null: another's object, or the create itself. */
  readonly creation: ModelUpload | null;
  /** The create of the object it refers to. */
  readonly reference: ModelUpload | null;
  readonly isBad: boolean;
  /** The step in which it was made. */
  readonly step: number;
}

/** What the simulation knows independently of the server: people, uploads and violations. */
export class Ledger {
  readonly #uploads = new Map<string, ModelUpload>();
  readonly #owners = new Map<string, number>();
  readonly violations: Violation[] = [];
  #number = 0;
  step = 0;

  nextNumber(): number {
    return ++this.#number;
  }

  add(upload: ModelUpload): void {
    this.#uploads.set(upload.upload.op_id, upload);
  }

  find(opId: string): ModelUpload | undefined {
    return this.#uploads.get(opId);
  }

  personOf(user: string): string {
    return `${user}#${this.#owners.get(user) ?? 0}`;
  }

  replacePerson(user: string): void {
    this.#owners.set(user, (this.#owners.get(user) ?? 0) + 1);
  }

  /** Returns an attribute value that contains its owner and its number. */
  value(user: string | null, number: number): string {
    return `${user === null ? 'all' : this.personOf(user)}|${number}`;
  }

  /** Records a violation instead of throwing it: the server would take an error for a failure of the backend. */
  demand(holds: boolean, rule: UploadRule, detail: () => string): void {
    if (!holds) this.violations.push(new Violation(rule, detail()));
  }
}

export function personIn(value: unknown): string | null {
  return typeof value === 'string' && value.includes('|') ? (value.split('|')[0] ?? null) : null;
}

export function numberIn(value: unknown): number | null {
  return typeof value === 'string' && value.includes('|') ? Number(value.split('|')[1]) : null;
}
