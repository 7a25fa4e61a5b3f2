import {
  characterProblem,
  type Limits,
  OP_ID_UNITS_MAX,
  pointer,
  Refusal,
  type Upload,
  type UploadOp,
} from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { admitAttributes } from '../admission/admit-objects.ts';
import { AttributeTexts } from '../journal/attribute-texts.ts';

/** An upload whose parts are all legal. */
export interface AdmittedUpload {
  readonly opId: string;
  readonly op: UploadOp;
  readonly id: string;
  /** Empty for a deletion. */
  readonly attributes: AttributeTexts;
  /** The attributes that an update removes. */
  readonly removed: readonly string[];
  readonly seen: string | null;
  /** The version of the schema that the attributes are of. Absent: the present one. */
  readonly version?: number;
}

const NO_ATTRIBUTES = AttributeTexts.of([]);

/** Outcomes are found by op ids, so a call with an illegal one is refused whole. */
export function requireOpId(opId: string, at: string): void {
  const detail = `must be a text of 1 to ${OP_ID_UNITS_MAX} characters without control characters`;
  if (opId.length >= 1 && opId.length <= OP_ID_UNITS_MAX && characterProblem(opId) === null) return;
  throw new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
}

/** Refuses what can never be applied. Pointers begin at the upload, because they are part of its own outcome. */
export function admitUpload(upload: Upload, limits: Limits): AdmittedUpload {
  const { op_id: opId, op, seen = null, version } = upload;
  const id = admitName('object', upload.id, pointer('id'));
  if (op === 'delete') return { opId, op, id, attributes: NO_ATTRIBUTES, removed: [], seen };
  const { removed: names = [], attributes: given } = upload;
  const attributes = admitAttributes(given ?? (names.length > 0 ? {} : given), limits, ['attributes']);
  const removed = op === 'update' ? admitRemoved(names, attributes, limits) : [];
  const admitted = { opId, op, id, attributes, removed, seen, ...(version === undefined ? {} : { version }) };
  if (!attributes.isEmpty || op === 'update') return admitted;
  throw withoutAttributes();
}

export function withoutAttributes(): Refusal {
  return new Refusal('invalid_value', 'an object needs at least one attribute');
}

function admitRemoved(names: readonly string[], attributes: AttributeTexts, limits: Limits): readonly string[] {
  if (names.length > limits.attributesPerObjectMax) {
    throw new Refusal('limit_exceeded', `more than ${limits.attributesPerObjectMax} attributes to remove`);
  }
  for (const [index, name] of names.entries()) {
    admitName('attribute', name, pointer('removed', String(index)));
    if (!attributes.has(name)) continue;
    throw new Refusal('invalid_value', `the attribute ${JSON.stringify(name)} is both set and removed`);
  }
  return names;
}
