import { isFileReference, type SourceSchema, type ValueSchema } from '@tidemark/protocol';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import type { AttributeFlaw } from '../admission/schema-check.ts';
import { FILE_KEYWORD, sentenceOf } from './sentences.ts';

type Attributes = Readonly<Record<string, unknown>>;

const NO_FLAWS: readonly AttributeFlaw[] = [];

/** The check of attributes that a schema asks for, compiled once. */
export class CompiledSchema {
  readonly required: readonly string[];
  readonly #schema: SourceSchema;
  readonly #areValid: ValidateFunction;
  /** The checks of single attributes are compiled when something is wrong with an object. */
  readonly #checks = new Map<string, ValidateFunction>();
  readonly #ajv = newAjv();

  constructor(schema: SourceSchema) {
    this.#schema = schema;
    this.required = schema.required ?? [];
    const { properties, additionalProperties } = schema;
    this.#areValid = this.#ajv.compile(
      checkOf({ type: 'object', properties, ...(additionalProperties === false ? { additionalProperties } : {}) }),
    );
  }

  /**
   * Returns what is wrong with the attributes of an object, or with those of them that a change sets. `resultNames` are the names
   * of all attributes that the object has after the change; null: they are not checked here.
   */
  check(attributes: Attributes, resultNames: ReadonlySet<string> | null): readonly AttributeFlaw[] {
    const flaws = this.#areValid(attributes) ? NO_FLAWS : this.#flawsIn(attributes);
    return resultNames === null ? flaws : [...flaws, ...this.missing((name) => resultNames.has(name))];
  }

  /** Returns a flaw for each required attribute that is missing. */
  missing(has: (name: string) => boolean): readonly AttributeFlaw[] {
    const missing = this.required.filter((name) => !has(name));
    if (missing.length === 0) return NO_FLAWS;
    return missing.map((attribute) => ({ attribute, at: '', detail: 'is required and missing' }));
  }

  /** Whether a single value is one that the schema of an attribute allows. */
  allows(attribute: string, value: unknown): boolean {
    return this.#flawOf(attribute, value) === null;
  }

  #flawsIn(attributes: Attributes): readonly AttributeFlaw[] {
    return Object.entries(attributes).flatMap(([attribute, value]) => this.#flawOf(attribute, value) ?? []);
  }

  #flawOf(attribute: string, value: unknown): AttributeFlaw | null {
    const { properties, additionalProperties } = this.#schema;
    const schema = Object.hasOwn(properties, attribute) ? properties[attribute] : undefined;
    if (schema === undefined) {
      if (additionalProperties !== false) return null;
      return { attribute, at: '', detail: 'is not an attribute of the schema' };
    }
    const isValid = this.#checks.get(attribute) ?? this.#ajv.compile(checkOf(schema));
    this.#checks.set(attribute, isValid);
    if (isValid(value)) return null;
    const [error] = isValid.errors ?? [];
    if (error === undefined) throw new Error('a check that fails says why');
    return { attribute, at: error.instancePath, detail: sentenceOf(error as ErrorObject) };
  }
}

/** Compiles nothing but what admission has let through, so the schemas themselves are not checked again. */
function newAjv(): Ajv2020 {
  const { date, time, email, uri, uuid } = fullFormats;
  const ajv = new Ajv2020({
    ownProperties: true,
    allowUnionTypes: true,
    strictTypes: false,
    validateSchema: false,
    formats: { date, 'date-time': fullFormats['date-time'], time, email, uri, uuid },
  });
  return ajv.addKeyword({
    keyword: FILE_KEYWORD,
    type: 'object',
    validate: (_schema: unknown, value: unknown) => isFileReference(value),
  });
}

/** Returns the keywords of a schema that check something. */
function checkOf(schema: ValueSchema): Record<string, unknown> {
  const { title, description, deprecated, reference, format, items, properties, ...rest } = schema;
  return {
    ...(format === 'file' && rest.type === undefined ? { type: 'object' } : {}),
    ...rest,
    ...(format === undefined ? {} : format === 'file' ? { [FILE_KEYWORD]: true } : { format }),
    ...(items === undefined ? {} : { items: checkOf(items) }),
    ...(properties === undefined ? {} : { properties: checksOf(properties) }),
  };
}

/** An object without a prototype, because any name may be a key. */
function checksOf(properties: Readonly<Record<string, ValueSchema>>): Record<string, unknown> {
  const checks = Object.entries(properties).map(([name, schema]) => [name, checkOf(schema)] as const);
  return Object.assign(Object.create(null), Object.fromEntries(checks)) as Record<string, unknown>;
}
