import { byOrder, type UploadRow } from '../state/rows.ts';

/** The pending uploads of each object, in order. */
export class Pending {
  readonly #bySource = new Map<string, Map<string, UploadRow[]>>();
  #open = 0;

  /** The number of uploads without a final outcome. */
  get open(): number {
    return this.#open;
  }

  add(upload: UploadRow): void {
    if (isOpen(upload)) this.#open++;
    const ofSource = this.#bySource.get(upload.source) ?? new Map<string, UploadRow[]>();
    const ofObject = ofSource.get(upload.id) ?? [];
    this.#bySource.set(upload.source, ofSource.set(upload.id, [...ofObject, upload].sort(byOrder)));
  }

  remove(upload: UploadRow): void {
    if (isOpen(upload)) this.#open--;
    const ofSource = this.#bySource.get(upload.source);
    const left = (ofSource?.get(upload.id) ?? []).filter((kept) => kept !== upload);
    if (left.length > 0) ofSource?.set(upload.id, left);
    else ofSource?.delete(upload.id);
  }

  of(source: string, id: string): readonly UploadRow[] {
    return this.#bySource.get(source)?.get(id) ?? [];
  }

  idsOf(source: string): Iterable<string> {
    return this.#bySource.get(source)?.keys() ?? [];
  }
}

/** True for an upload without a final outcome. */
export function isOpen({ state }: UploadRow): boolean {
  return state !== 'applied';
}
