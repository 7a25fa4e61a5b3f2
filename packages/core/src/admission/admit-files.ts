import {
  FILE_KEY,
  FILES_PER_OBJECT_MAX,
  fileFlawIn,
  fileReferencesIn,
  mayHaveFiles,
  pointer,
  Refusal,
} from '@tidemark/protocol';
import { quoted } from './admit-name.ts';

/**
 * Refuses attributes in which something has the key `$file` and is not a reference to a file, or that refer to too many.
 * `path` leads to the attributes.
 */
export function requireFileReferences(attributes: Readonly<Record<string, unknown>>, path: readonly string[]): void {
  let count = 0;
  for (const [name, value] of Object.entries(attributes)) {
    const flaw = fileFlawIn(value);
    if (flaw !== null) throw malformed(pointer(...path, name, ...flaw.path), flaw.detail);
    for (const _reference of fileReferencesIn(value)) count++;
  }
  if (count <= FILES_PER_OBJECT_MAX) return;
  const at = pointer(...path);
  const detail = `${count} references to files are more than the ${FILES_PER_OBJECT_MAX} allowed in an object`;
  throw new Refusal('limit_exceeded', `${detail} (at ${quoted(at)})`, [{ pointer: at, detail }]);
}

function malformed(at: string, detail: string): Refusal {
  return new Refusal('invalid_value', `a reference to a file is not well formed: ${quoted(at)} ${detail}`, [
    { pointer: at, detail },
  ]);
}

/**
 * Refuses references where nothing counts them: only the objects of sources keep a file. `text` is the JSON text of what is
 * written, `what` names it.
 */
export function refuseFileReferences(text: string, what: string, at: string): void {
  if (!mayHaveFiles(text)) return;
  const detail = `${what} cannot have the key "${FILE_KEY}": only objects of sources refer to files`;
  throw new Refusal('invalid_value', detail, [{ pointer: at, detail }]);
}
