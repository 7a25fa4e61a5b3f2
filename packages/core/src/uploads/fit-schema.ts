import { type AttributeValues, parseJson, Refusal } from '@tidemark/protocol';
import { type SchemaCheck, sentenceOf } from '../admission/schema-check.ts';
import type { ObjectRecord } from '../journal/record.ts';
import type { AdmittedUpload } from './admit-upload.ts';

/**
 * Checks an upload of the present version against the schema of its source: refuses it if the schema is enforced, otherwise reports
 * it. `current` is the object that it changes; null: there is none.
 */
export function fitSchema(schema: SchemaCheck | null, upload: AdmittedUpload, current: ObjectRecord | null): void {
  // Without an object an update is refused anyway.
  if (schema === null || upload.op === 'delete' || (upload.op === 'update' && current === null)) return;
  const set = parseJson(upload.attributes.text) as AttributeValues;
  const names = namesAfter(upload, current);
  // An object without attributes is deleted.
  const isJudged = schema.checksResults && names.size > 0;
  const flaws = schema.check(set, isJudged ? names : null);
  const [first] = flaws;
  if (first === undefined) return;
  if (schema.isEnforced) throw new Refusal('schema_violation', sentenceOf(first));
  schema.report({ objects: 1, flaws: flaws.map((flaw) => ({ object: upload.id, ...flaw })) });
}

/** The names of the attributes that the object has after the upload. */
function namesAfter({ op, attributes, removed }: AdmittedUpload, current: ObjectRecord | null): ReadonlySet<string> {
  const before = op === 'create' || current === null ? [] : current.attributes.keys();
  const names = new Set([...before, ...attributes.keys()]);
  for (const name of removed) names.delete(name);
  return names;
}
