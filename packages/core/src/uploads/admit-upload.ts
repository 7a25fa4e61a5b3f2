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
import type { AttributeTexts } from '../admission/admitted.ts';

/** An upload whose parts are all legal; what becomes of it is another matter. */
export interface AdmittedUpload {
  readonly opId: string;
  readonly op: UploadOp;
  readonly id: string;
  /** None of a deletion. */
  readonly attributes: AttributeTexts;
  readonly seen: string | null;
}

const NO_ATTRIBUTES: AttributeTexts = new Map();

/** The id of an upload is what its outcome is remembered by: without a good one the whole call makes no sense. */
export function admitOpId(opId: string, at: string): string {
  const detail = `must be a text of 1 to ${OP_ID_UNITS_MAX} characters without control characters`;
  if (opId.length >= 1 && opId.length <= OP_ID_UNITS_MAX && characterProblem(opId) === null) return opId;
  throw new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
}

/** Refuses what can never be applied. Places are told from the upload on: it is its own outcome that tells them. */
export function admitUpload(upload: Upload, limits: Limits): AdmittedUpload {
  const { op_id: opId, op, seen = null } = upload;
  const id = admitName('object', upload.id, pointer('id'));
  if (op === 'delete') return { opId, op, id, attributes: NO_ATTRIBUTES, seen };
  const attributes = admitAttributes(upload.attributes, limits, ['attributes']);
  if (attributes.size > 0 || op === 'update') return { opId, op, id, attributes, seen };
  throw new Refusal('invalid_value', 'an object needs at least one attribute');
}
