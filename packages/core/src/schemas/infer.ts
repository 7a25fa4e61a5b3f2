import {
  isFileReference,
  type JsonValue,
  SCHEMA_ATTRIBUTES_MAX,
  SCHEMA_DEPTH_MAX,
  type SourceSchema,
  type ValueFormat,
  type ValueSchema,
  type ValueType,
} from '@tidemark/protocol';
import { CompiledSchema } from './compiled-schema.ts';
import { typeOf } from './keywords.ts';

/** A schema that fits the objects it was made from, and how many of them support each statement. */
export interface InferredSchema {
  readonly schema: SourceSchema;
  /** A JSON pointer to a statement of the schema → objects that support it. */
  readonly support: Readonly<Record<string, number>>;
}

type Attributes = Readonly<Record<string, JsonValue>>;

/** A format or an enum that fewer values support is a coincidence. */
const FORMAT_VALUES_MIN = 3;
const ENUM_REPEATS_MIN = 5;
const ENUM_VALUES_MAX = 10;
const ENUM_UNITS_MAX = 40;
const FORMATS = ['date', 'date-time', 'time', 'uuid', 'email', 'uri'] as const satisfies readonly ValueFormat[];

/** Gathers what objects have in common. */
export class SchemaInference {
  readonly #members = new MembersSeen(SCHEMA_DEPTH_MAX - 1, { properties: SCHEMA_ATTRIBUTES_MAX });

  add(attributes: Attributes): void {
    this.#members.add(attributes);
  }

  get objects(): number {
    return this.#members.count;
  }

  finish(): InferredSchema {
    const support: Record<string, number> = {};
    return { schema: this.#members.schema('', support), support };
  }
}

/** The members of several objects. */
class MembersSeen {
  count = 0;
  readonly #byName = new Map<string, ValuesSeen>();
  readonly #depth: number;
  readonly #left: { properties: number };

  constructor(depth: number, left: { properties: number }) {
    this.#depth = depth;
    this.#left = left;
  }

  add(members: Attributes): void {
    this.count++;
    for (const [name, value] of Object.entries(members)) this.#seen(name)?.add(value);
  }

  schema(at: string, support: Record<string, number>): SourceSchema {
    const properties: Record<string, ValueSchema> = {};
    const required: string[] = [];
    for (const [name, seen] of this.#byName) {
      const here = `${at}/properties/${escaped(name)}`;
      properties[name] = seen.schema(here, support);
      if (seen.count < this.count) continue;
      support[`${at}/required/${required.length}`] = seen.count;
      required.push(name);
    }
    return { properties, ...(required.length === 0 ? {} : { required }) };
  }

  /** Null: there would be more members than a schema may have. */
  #seen(name: string): ValuesSeen | null {
    const known = this.#byName.get(name);
    if (known !== undefined) return known;
    if (this.#left.properties === 0) return null;
    this.#left.properties--;
    const seen = new ValuesSeen(this.#depth, this.#left);
    this.#byName.set(name, seen);
    return seen;
  }
}

/** The values of one attribute, member or item. */
class ValuesSeen {
  count = 0;
  readonly #types = new Map<ValueType, number>();
  readonly #members: MembersSeen | null;
  readonly #depth: number;
  readonly #left: { properties: number };
  #items: ValuesSeen | null = null;
  #files = 0;
  readonly #formats = new Set<(typeof FORMATS)[number]>(FORMATS);
  /** Different texts and how often each occurs; null: there are too many. */
  #texts: Map<string, number> | null = new Map();

  constructor(depth: number, left: { properties: number }) {
    this.#depth = depth;
    this.#left = left;
    this.#members = depth > 0 ? new MembersSeen(depth - 1, left) : null;
  }

  add(value: JsonValue): void {
    this.count++;
    const type = typeOf(value);
    this.#types.set(type, (this.#types.get(type) ?? 0) + 1);
    if (typeof value === 'string') this.#addText(value);
    else if (Array.isArray(value)) for (const item of value) this.#itemsSeen()?.add(item);
    else if (isFileReference(value)) this.#files++;
    else if (typeof value === 'object' && value !== null) this.#members?.add(value as Attributes);
  }

  schema(at: string, support: Record<string, number>): ValueSchema {
    if (this.#types.has('number')) this.#types.delete('integer');
    const types = [...this.#types.keys()].sort();
    const [first] = types;
    support[`${at}/type`] = this.count;
    return {
      ...(first === undefined ? {} : { type: types.length === 1 ? first : types }),
      ...this.#textKeywords(at, support),
      ...this.#objectKeywords(at, support),
      ...(this.#items === null ? {} : { items: this.#items.schema(`${at}/items`, support) }),
    };
  }

  #itemsSeen(): ValuesSeen | null {
    if (this.#depth > 0) this.#items ??= new ValuesSeen(this.#depth - 1, this.#left);
    return this.#items;
  }

  #addText(text: string): void {
    for (const format of this.#formats) if (!FITS[format](text)) this.#formats.delete(format);
    if (this.#texts === null) return;
    this.#texts.set(text, (this.#texts.get(text) ?? 0) + 1);
    if (this.#texts.size > ENUM_VALUES_MAX || text.length > ENUM_UNITS_MAX) this.#texts = null;
  }

  #textKeywords(at: string, support: Record<string, number>): Pick<ValueSchema, 'enum' | 'format'> {
    const count = this.#types.get('string') ?? 0;
    const [format] = this.#formats;
    if (count >= FORMAT_VALUES_MIN && format !== undefined) {
      support[`${at}/format`] = count;
      return { format };
    }
    const texts = this.#texts;
    // Other types would not be allowed by an enum of texts.
    if (texts === null || count < this.count || count < texts.size * ENUM_REPEATS_MIN || count === 0) return {};
    support[`${at}/enum`] = count;
    return { enum: [...texts.keys()].sort() };
  }

  #objectKeywords(at: string, support: Record<string, number>): Partial<ValueSchema> {
    const objects = this.#types.get('object') ?? 0;
    if (objects === 0 || this.#members === null) return {};
    if (this.#files === objects) {
      support[`${at}/format`] = objects;
      return { format: 'file' };
    }
    return this.#files > 0 ? {} : this.#members.schema(at, support);
  }
}

/** The same checks as those of a schema, so that what is proposed fits. */
const FITS = Object.fromEntries(
  FORMATS.map((format) => {
    const check = new CompiledSchema({ properties: { text: { type: 'string', format } } });
    return [format, (text: string) => check.allows('text', text)] as const;
  }),
) as Readonly<Record<(typeof FORMATS)[number], (text: string) => boolean>>;

function escaped(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
