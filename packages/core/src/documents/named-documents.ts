import { COMMIT_ATTEMPTS_MAX, type Limits, Refusal } from '@tidemark/protocol';
import type { DocumentAddress, DocumentContent } from '../admission/admit-document.ts';
import { quoted } from '../admission/admit-name.ts';
import type { Admitted, AttributeTexts } from '../admission/admitted.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { eachMember, objectText } from '../journal/json-text.ts';
import type { DocumentKey, DocumentType, DocumentWrite, Store, StoredDocument } from '../ports/store.ts';
import { merged } from './verdicts.ts';

/** A named document as its readers get it; objects: id → attributes as the text of a JSON object. */
export type DocumentView =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'objects'; readonly objects: ReadonlyMap<string, string> };

export interface DocumentReport {
  readonly doc: string;
  readonly type: DocumentType;
  /** Characters of a text, objects of a hash of hashes. */
  readonly size: number;
}

/** Documents that are neither md nor cd: kept under a name, never synchronised. */
export class NamedDocuments {
  readonly #store: Store;
  readonly #limits: Limits;

  constructor(store: Store, limits: Limits) {
    this.#store = store;
    this.#limits = limits;
  }

  async read({ key }: Admitted<DocumentAddress>): Promise<DocumentView> {
    const document = await this.#store.readDocument(key);
    if (document === null) throw new Refusal('doc_not_found', `there is no document ${quoted(key.name)}`);
    if (document.type === 'objects') return { type: 'objects', objects: document.parts };
    return { type: 'text', text: [...document.parts.values()].join('') };
  }

  /** The content becomes all there is. */
  async set({ key, guards }: Admitted<DocumentAddress>, content: Admitted<DocumentContent>): Promise<DocumentReport> {
    const parts = content.type === 'text' ? new Map([[partName(0), content.text]]) : partsOf(content.objects);
    const { partCount, units } = growth(null, parts);
    this.#requireRoom(units);
    const result = await this.#write({ key, type: content.type, replace: true, parts, guards });
    if (result === 'conflict') throw new Error('a write that expects nothing cannot conflict');
    return { doc: key.name, type: content.type, size: sizeOf(content.type, partCount, units) };
  }

  /** The content is added to what is there: texts behind each other, objects attribute by attribute. */
  async append(address: Admitted<DocumentAddress>, content: Admitted<DocumentContent>): Promise<DocumentReport> {
    for (let attempt = 0; attempt < COMMIT_ATTEMPTS_MAX; attempt++) {
      const report = await this.#appendOnce(address, content);
      if (report !== 'conflict') return report;
    }
    throw new Refusal('write_conflict', `other writers kept changing the document ${quoted(address.key.name)}`);
  }

  async #appendOnce({ key, guards }: DocumentAddress, content: DocumentContent): Promise<DocumentReport | 'conflict'> {
    const asked = content.type === 'text' ? [] : [...content.objects.keys()];
    const present = await this.#store.readDocument(key, asked);
    if (present !== null && present.type !== content.type) throw typeConflict(key, present.type);
    const parts =
      content.type === 'text' ? textAppended(present, content.text) : objectsAppended(present, content.objects);
    const added = growth(present, parts);
    this.#requireRoom(added.units);
    const report = { doc: key.name, type: content.type, size: sizeOf(content.type, added.partCount, added.units) };
    if (parts.size === 0 && present !== null) return report;
    const expect = present?.version ?? 0;
    const result = await this.#write({ key, type: content.type, replace: false, parts, expect, guards });
    return result === 'conflict' ? 'conflict' : report;
  }

  #requireRoom(units: number): void {
    const { documentUnitsMax } = this.#limits;
    if (units <= documentUnitsMax) return;
    throw new Refusal('document_too_large', `the document would be longer than ${documentUnitsMax} characters`);
  }

  async #write(write: DocumentWrite): Promise<'written' | 'conflict'> {
    const result = await this.#store.writeDocument(write);
    if (result.status === 'gone') throw refuseGone(result.guard);
    return result.status;
  }
}

function textAppended(present: StoredDocument | null, text: string): ReadonlyMap<string, string> {
  if (text === '' && present !== null) return new Map();
  return new Map([[partName(present?.partCount ?? 0), text]]);
}

function objectsAppended(
  present: StoredDocument | null,
  objects: ReadonlyMap<string, AttributeTexts>,
): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const [id, given] of objects) {
    const text = present?.parts.get(id);
    const verdict = text === undefined ? given : merged(attributesOf(text), given);
    if (verdict !== null && verdict !== 'gone') parts.set(id, objectText(verdict));
  }
  return parts;
}

/** How large the document is with these parts in it. */
function growth(
  present: StoredDocument | null,
  parts: ReadonlyMap<string, string>,
): { partCount: number; units: number } {
  let partCount = present?.partCount ?? 0;
  let units = present?.units ?? 0;
  for (const [name, text] of parts) {
    const before = present?.parts.get(name);
    if (before === undefined) partCount++;
    units += text.length - (before?.length ?? 0);
  }
  return { partCount, units };
}

function partsOf(objects: ReadonlyMap<string, AttributeTexts>): ReadonlyMap<string, string> {
  return new Map([...objects].map(([id, attributes]) => [id, objectText(attributes)]));
}

function attributesOf(text: string): AttributeTexts {
  const attributes = new Map<string, string>();
  eachMember(text, 0, (name, value) => attributes.set(name, value));
  return attributes;
}

function sizeOf(type: DocumentType, partCount: number, units: number): number {
  return type === 'text' ? units : partCount;
}

/** Parts of a text are numbered; fixed width keeps their order the order of their names. */
function partName(index: number): string {
  return index.toString(36).padStart(8, '0');
}

function typeConflict(key: DocumentKey, present: DocumentType): Refusal {
  const holds = present === 'text' ? 'a string' : 'a hash of hashes';
  return new Refusal('type_conflict', `the document ${quoted(key.name)} holds ${holds}; only its like can be appended`);
}
