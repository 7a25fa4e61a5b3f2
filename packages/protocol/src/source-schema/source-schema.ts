import type { JsonValue } from '../json/canonical-json.ts';

export const VALUE_TYPES = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

/** Forms of texts, and `file` for a value that refers to a file: `{"$file": …}`. */
export const VALUE_FORMATS = ['date', 'date-time', 'time', 'email', 'uri', 'uuid', 'file'] as const;
export type ValueFormat = (typeof VALUE_FORMATS)[number];

/** What a value must be like: a part of JSON Schema 2020-12, and `reference` for texts that are ids of objects of a source. */
export interface ValueSchema {
  readonly title?: string;
  readonly description?: string;
  /** True: apps should stop using it. */
  readonly deprecated?: boolean;
  readonly type?: ValueType | readonly ValueType[];
  readonly enum?: readonly JsonValue[];
  readonly const?: JsonValue;
  readonly format?: ValueFormat;
  /** The value is the id of an object of this source. */
  readonly reference?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly items?: ValueSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

/** What the attributes of the objects of a source must be like. */
export interface SourceSchema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: 'object';
  readonly properties: Readonly<Record<string, ValueSchema>>;
  readonly required?: readonly string[];
  /** False: there are no attributes but those of `properties`. Absent: true. */
  readonly additionalProperties?: boolean;
}
