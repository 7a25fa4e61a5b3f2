import { parseJson } from '@tidemark/protocol';
/** The licence the server runs under, in the form of decisions: no seats to buy, so nothing to run out of. */
export interface License {
  readonly license: 'Apache-2.0';
  readonly edition: 'community';
  readonly licensee: string | null;
  /** Null: no cap. */
  readonly seats: null;
  readonly devices: number;
  readonly available: null;
  /** When this installation was first started; null before that. */
  readonly issued: string | null;
  readonly expires: null;
  readonly version: string;
}

/** What is kept of it. */
export interface LicenseRecord {
  readonly licensee: string | null;
  readonly issuedAtMs: number;
}

export function readLicenseRecord(text: string): LicenseRecord {
  return parseJson(text) as LicenseRecord;
}

export function writeLicenseRecord(record: LicenseRecord): string {
  return JSON.stringify(record);
}
