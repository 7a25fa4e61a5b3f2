import type { Upload } from '@tidemark/protocol';
import { type UploadRule, UploadViolation } from './violation.ts';

/** An upload as the device that made it knows it. */
export interface ModelUpload {
  readonly upload: Upload;
  /** Grows with every upload and every edit of the office. */
  readonly number: number;
  /** Who made it: a login and which of its owners. */
  readonly person: string;
  readonly user: string;
  readonly client: string;
  /** The create that made the object, when this device did; null: somebody else's object, or the create itself. */
  readonly creation: ModelUpload | null;
  /** The create of the object it refers to. */
  readonly reference: ModelUpload | null;
  readonly isBad: boolean;
  /** The step in which it was made. */
  readonly step: number;
}

/** What the simulation knows, independently of the server: who is who, who made what, and what went wrong. */
export class Ledger {
  readonly #uploads = new Map<string, ModelUpload>();
  readonly #owners = new Map<string, number>();
  readonly violations: UploadViolation[] = [];
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

  /** Values say whose they are and how old. */
  value(user: string | null, number: number): string {
    return `${user === null ? 'all' : this.personOf(user)}|${number}`;
  }

  /** Calls come from within the server, which would take what is thrown for trouble of the backend. */
  demand(holds: boolean, rule: UploadRule, detail: () => string): void {
    if (!holds) this.violations.push(new UploadViolation(rule, detail()));
  }
}

export function personIn(value: unknown): string | null {
  return typeof value === 'string' && value.includes('|') ? (value.split('|')[0] ?? null) : null;
}

export function numberIn(value: unknown): number | null {
  return typeof value === 'string' && value.includes('|') ? Number(value.split('|')[1]) : null;
}
