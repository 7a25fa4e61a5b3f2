import { type Limits, Refusal } from '@tidemark/protocol';
import type { DocumentAddress, DocumentContent } from '../admission/admit-document.ts';
import { quoted } from '../admission/admit-name.ts';
import type { Admitted, ObjectTexts } from '../admission/admitted.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { AttributeTexts } from '../journal/attribute-texts.ts';
import type { Pace } from '../ports/pace.ts';
import type { DocumentKey, DocumentType, DocumentWrite, Store, StoredDocument } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { WITHOUT_PAUSE, WorkBudget } from '../primitives/work-budget.ts';
import { merged } from './verdicts.ts';

/** The content of a named document. `objects` maps ids to attributes as the text of a JSON object. */
export type DocumentView =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'objects'; readonly objects: ReadonlyMap<string, string> };

export interface DocumentReport {
  readonly doc: string;
  readonly type: DocumentType;
  /** The number of characters of a text, or of objects. */
  readonly size: number;
}

/** Objects read at a time, so that the event loop can do other work in between. */
const LOOKUP_CHUNK = 1_000;
const NO_ATTRIBUTES = AttributeTexts.of([]);

/** Documents other than md and cd. They are stored under a name and never synchronised. */
export class NamedDocuments {
  readonly #store: Store;
  readonly #limits: Limits;
  readonly #pace: Pace;

  constructor(store: Store, limits: Limits, pace: Pace = WITHOUT_PAUSE) {
    this.#store = store;
    this.#limits = limits;
    this.#pace = pace;
  }

  async read({ key }: Admitted<DocumentAddress>): Promise<DocumentView> {
    const document = await this.#store.readDocument(key);
    if (document === null) throw new Refusal('doc_not_found', `there is no document ${quoted(key.name)}`);
    if (document.type === 'objects') return { type: 'objects', objects: document.parts };
    return { type: 'text', text: [...document.parts.values()].join('') };
  }

  /** Replaces the document. */
  async set({ key, guards }: Admitted<DocumentAddress>, content: Admitted<DocumentContent>): Promise<DocumentReport> {
    const draft = new DocumentDraft(null);
    if (content.type === 'text') draft.put(partName(0), content.text);
    else await this.#addObjects(draft, content.objects);
    this.#requireRoom(draft.units);
    const result = await this.#write({ key, type: content.type, replace: true, parts: draft.parts, guards });
    if (result === 'conflict') throw new Error('a write that expects nothing cannot conflict');
    return draft.report(key, content.type);
  }

  /** Appends a text to a text, or merges objects into the stored ones attribute by attribute. */
  async append(address: Admitted<DocumentAddress>, content: Admitted<DocumentContent>): Promise<DocumentReport> {
    const subject = `the document ${quoted(address.key.name)}`;
    return retryOnConflict(() => this.#appendOnce(address, content), { subject });
  }

  async #appendOnce({ key, guards }: DocumentAddress, content: DocumentContent): Promise<DocumentReport | null> {
    const { type } = content;
    const draft =
      type === 'text' ? await this.#appendText(key, content.text) : await this.#appendObjects(key, content.objects);
    if (draft === null) return null;
    const { parts, expect, units } = draft;
    this.#requireRoom(units);
    if (parts.size === 0 && expect !== 0) return draft.report(key, type);
    const result = await this.#write({ key, type, replace: false, parts, expect, guards });
    return result === 'conflict' ? null : draft.report(key, type);
  }

  async #appendText(key: DocumentKey, text: string): Promise<DocumentDraft> {
    const present = await this.#store.readDocument(key, []);
    requireType(key, present, 'text');
    const draft = new DocumentDraft(present);
    if (text !== '' || present === null) draft.put(partName(present?.partCount ?? 0), text);
    return draft;
  }

  /** Reads the stored objects chunk by chunk. Returns null when the document changed in between. */
  async #appendObjects(key: DocumentKey, objects: ObjectTexts): Promise<DocumentDraft | null> {
    const ids = [...objects.keys()];
    let draft: DocumentDraft | null = null;
    for (let start = 0; start < ids.length || draft === null; start += LOOKUP_CHUNK) {
      const chunk = ids.slice(start, start + LOOKUP_CHUNK);
      const present = await this.#store.readDocument(key, chunk);
      requireType(key, present, 'objects');
      draft ??= new DocumentDraft(present);
      if (draft.expect !== (present?.version ?? 0)) return null;
      const given = new Map(chunk.map((id) => [id, objects.get(id) ?? NO_ATTRIBUTES]));
      await this.#addObjects(draft, given, present?.parts);
    }
    return draft;
  }

  async #addObjects(draft: DocumentDraft, objects: ObjectTexts, present?: ReadonlyMap<string, string>): Promise<void> {
    for (const [id, given] of objects) {
      const before = present?.get(id);
      const verdict = before === undefined ? given : merged(AttributeTexts.inText(before), given);
      const text = verdict === null || verdict === 'gone' ? null : verdict.text;
      if (text !== null) draft.put(id, text, before);
      if (draft.budget.isSpent((text ?? before ?? '').length)) await this.#pace.turn();
    }
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

/** The changes of one write to a document, relative to the version that was read. */
class DocumentDraft {
  readonly parts = new Map<string, string>();
  readonly budget = new WorkBudget();
  /** The version that was read; 0 when there was no document. */
  readonly expect: number;
  units: number;
  #partCount: number;

  constructor(present: StoredDocument | null) {
    this.expect = present?.version ?? 0;
    this.units = present?.units ?? 0;
    this.#partCount = present?.partCount ?? 0;
  }

  put(name: string, text: string, before?: string): void {
    this.parts.set(name, text);
    if (before === undefined) this.#partCount++;
    this.units += text.length - (before?.length ?? 0);
  }

  report({ name }: DocumentKey, type: DocumentType): DocumentReport {
    return { doc: name, type, size: type === 'text' ? this.units : this.#partCount };
  }
}

/** Parts of a text are numbered. Names of fixed width sort in the order of the parts. */
function partName(index: number): string {
  return index.toString(36).padStart(8, '0');
}

function requireType(key: DocumentKey, present: StoredDocument | null, type: DocumentType): void {
  if (present === null || present.type === type) return;
  const holds = present.type === 'text' ? 'a string' : 'a hash of hashes';
  throw new Refusal(
    'type_conflict',
    `the document ${quoted(key.name)} holds ${holds}; only ${holds} can be appended to it`,
  );
}
