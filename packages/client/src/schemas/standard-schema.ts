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
export type Schemas = ReadonlyMap<string, StandardSchema>;

/**
 * Returns what to write. An update is checked as the whole object it would make, because a schema cannot check a part.
 * Only issues of changed attributes, or of the object as a whole, refuse it: objects of an earlier version of the app, or of
 * the backend, stay editable. Only changed attributes are written, as given if something else does not match.
 */
export function admitBySchema(schema: StandardSchema, source: string, changes: object, current?: object): object {
  const result = schema['~standard'].validate({ ...current, ...changes });
  if (result instanceof Promise) {
    throw new ClientError('invalid_request', `the schema of ${source} is asynchronous: writes are not`);
  }
  const issues = result.issues?.filter((issue) => {
    const [name] = namesOf(issue);
    return !current || !name || name in changes;
  });
  if (issues?.length) throw new ClientError('invalid_value', `${source}: ${issues.map(textOf).join('; ')}`);
  const whole = (result.issues ? changes : result.value) as Readonly<Record<string, unknown>>;
  return current ? Object.fromEntries(Object.keys(changes).map((name) => [name, whole[name]])) : whole;
}

function namesOf({ path }: Issue): readonly string[] {
  return (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
}

function textOf(issue: Issue): string {
  const names = namesOf(issue);
  return names.length === 0 ? issue.message : `${names.join('.')}: ${issue.message}`;
}
