import { ClientError } from '../client-error.ts';

/**
 * The part of the Standard Schema interface (https://standardschema.dev, version 1) that the SDK uses. Schemas of zod,
 * valibot, arktype and others implement it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output> | Promise<Validated<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type Validated<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The attributes that a schema describes. */
export type OutputOf<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output'];

/** The schemas of a device by source. */
export class Schemas {
  readonly #bySource = new Map<string, StandardSchema>();

  set(source: string, schema: StandardSchema): void {
    this.#bySource.set(source, schema);
  }

  /**
   * Returns what to write. An update is checked as the whole object it would make, because a schema cannot check a part;
   * of that, only the changed attributes are written.
   */
  admit(source: string, changes: object, current?: object): object {
    const schema = this.#bySource.get(source);
    if (schema === undefined) return changes;
    const whole = validated(schema, source, { ...current, ...changes }) as Readonly<Record<string, unknown>>;
    if (current === undefined) return whole;
    return Object.fromEntries(Object.keys(changes).map((name) => [name, whole[name]]));
  }
}

/** Returns the attributes as the schema gives them back. Throws `invalid_value` if they do not match it. */
function validated(schema: StandardSchema, source: string, attributes: object): object {
  const result = schema['~standard'].validate(attributes);
  if (result instanceof Promise) {
    throw new ClientError('invalid_request', `the schema of ${source} is asynchronous: writes are not`);
  }
  if (result.issues === undefined) return result.value as object;
  throw new ClientError('invalid_value', `${source}: ${result.issues.map(textOf).join('; ')}`);
}

function textOf({ path, message }: Issue): string {
  const names = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  return names.length === 0 ? message : `${names.join('.')}: ${message}`;
}
