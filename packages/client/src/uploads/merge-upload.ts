import { MERGED_OPS_KEPT } from '../limits.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Attributes, UploadRow } from '../state/rows.ts';
import { realId, withReferencesOf } from './links.ts';

/**
 * Adds an upload to the transaction. An update is merged into `tail`, the upload before it, if that is an update of the same
 * object which has never been sent. Nothing is merged across uploads of other objects, so the order between objects
 * stays. Returns the op_id of the row that holds the change.
 */
export function addUpload(tx: Transaction, tail: string | null, opId: string, given: UploadRow): string {
  const upload = withRealIds(tx, given);
  const before = tail === null ? undefined : tx.get('uploads', ['', tail]);
  if (tail === null || before === undefined || !isMergeable(tx, before, upload)) {
    tx.put('uploads', ['', opId], upload);
    return opId;
  }
  const { removed: _, ...kept } = before;
  const merged = [...(before.merged ?? []), opId].slice(-MERGED_OPS_KEPT);
  tx.put('uploads', ['', tail], { ...kept, ...mergedChange(before, upload), merged });
  return tail;
}

/** Returns the same row if no id was replaced since the change was made. */
function withRealIds(reader: Reader, upload: UploadRow): UploadRow {
  const id = realId(reader, upload.source, upload.id);
  const attributes = upload.attributes && withReferencesOf(reader, upload, upload.attributes);
  return id === upload.id && attributes === upload.attributes ? upload : { ...upload, id, attributes };
}

/** Where conflicts are detected, both changes must have been made on the same state. */
function isMergeable(reader: Reader, before: UploadRow, upload: UploadRow): boolean {
  const { source, op, seen } = upload;
  if (before.state !== 'waiting' || !isOfSameObject(before, upload)) return false;
  if (before.op !== 'update' || op !== 'update' || before.version !== upload.version) return false;
  const detects = reader.get('sources', ['', source])?.description.conflicts === 'detect';
  return !detects || before.seen === seen;
}

/** Objects with the same id in two groups of a source are two objects. */
export function isOfSameObject(left: UploadRow, right: UploadRow): boolean {
  return left.source === right.source && left.group === right.group && left.id === right.id;
}

type UpdateChange = Pick<UploadRow, 'attributes' | 'removed'>;

/** Returns one change that has the effect of both. */
function mergedChange(first: UpdateChange, second: UpdateChange): UpdateChange {
  const removed = new Set([...(first.removed ?? []), ...(second.removed ?? [])]);
  for (const name of Object.keys(second.attributes ?? {})) removed.delete(name);
  const attributes: Attributes = withoutNames({ ...first.attributes, ...second.attributes }, removed);
  return { attributes, ...(removed.size === 0 ? {} : { removed: [...removed] }) };
}

/** Returns the attributes of an object after an update. */
export function changed(attributes: Attributes | undefined, { attributes: given, removed }: UpdateChange): Attributes {
  const all = { ...attributes, ...given };
  return removed === undefined ? all : withoutNames(all, new Set(removed));
}

function withoutNames(attributes: Attributes, names: ReadonlySet<string>): Attributes {
  if (names.size === 0) return attributes;
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.has(name)));
}
