import type { Attributes } from '@tidemark/backend';
import type { JsonValue } from '@tidemark/protocol';
import type { AttributePlan } from '../mapping/plan.ts';
import type { Row } from './row.ts';

/** The JSON value of the text of a column. */
export type ToJson = (column: AttributePlan, text: string) => JsonValue;

/** The attributes of a row. Columns that are unknown are left out, never guessed. */
export function attributesOf(row: Row, plans: readonly AttributePlan[], toJson: ToJson): Attributes {
  const attributes: Record<string, JsonValue> = {};
  for (const plan of plans) {
    const text = row.get(plan.name);
    if (text !== undefined) attributes[plan.attribute] = text === null ? null : toJson(plan, text);
  }
  return attributes;
}
