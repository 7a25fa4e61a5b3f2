import { namedAsBefore, namesOf, renewed, type Step, toNewer, toOlder, Untranslatable } from '@tidemark/protocol';
import type { AppVersions, ObjectEdit, VersionedEdit } from '../state/app-versions.ts';
import { formOf } from '../state/object-form.ts';
import type { Attributes, ObjectForm, ProblemRow, ShownProblem, SourceRow } from '../state/rows.ts';

/** What an app was built with: a constant of the generated types. */
export type Versions = Readonly<Record<string, BuiltWith>>;

/** The version of the schema of a source, and the steps from each version to the next up to it: the first list leads from 1 to 2. */
export interface BuiltWith {
  readonly version: number;
  readonly steps: readonly (readonly Step[])[];
}

type Translation = (attributes: Attributes) => Attributes;

const NOTHING: ObjectEdit = { attributes: {} };

/** Translates for an app that says which versions it was built with. */
export class TranslatedVersions implements AppVersions {
  readonly all: Readonly<Record<string, number>>;
  readonly #built: Versions;
  readonly #translations = new WeakMap<SourceRow, Translation | null>();

  constructor(built: Versions) {
    this.#built = built;
    this.all = Object.fromEntries(Object.entries(built).map(([source, { version }]) => [source, version]));
  }

  of(source: string): number | undefined {
    return this.#builtWith(source)?.version;
  }

  isSame(row: SourceRow | undefined): boolean {
    return row === undefined || this.#translationOf(row) === null;
  }

  shown(row: SourceRow | undefined, attributes: Attributes): Attributes {
    const translate = row === undefined ? null : this.#translationOf(row);
    return translate === null ? attributes : translate(attributes);
  }

  answered(row: SourceRow | undefined, attributes: Attributes): Attributes {
    return this.#answeredSince(row, attributes);
  }

  problem(row: SourceRow | undefined, problem: ProblemRow): ShownProblem {
    const { removed: _, version: __, currentSince, ...rest } = problem;
    const current = problem.current && this.#answeredSince(row, problem.current, currentSince);
    return { ...rest, ...this.changeOf(row, problem, current ?? undefined), current };
  }

  changeOf(
    row: SourceRow | undefined,
    { version, ...change }: VersionedEdit,
    seen: Attributes | undefined,
  ): ObjectEdit {
    const app = this.of(change.source);
    const isOfApp = app === undefined || version === undefined || version === app;
    // A deletion has nothing to translate.
    if (isOfApp || change.op === 'delete') return change;
    if (version > app) return this.#knows(row, version) ? this.#older(row, change, { version, app }) : NOTHING;
    const steps = this.#steps(row, version, app);
    const { attributes, removed = [] } = change;
    try {
      const current = change.op === 'create' ? null : (seen ?? null);
      const newer = toNewer({ set: attributes ?? {}, removed }, current, steps);
      return { attributes: newer.set, ...(newer.removed.length === 0 ? {} : { removed: newer.removed }) };
    } catch (error) {
      // The server will refuse it for the same reason.
      if (error instanceof Untranslatable) return NOTHING;
      throw error;
    }
  }

  named<T>(
    row: SourceRow | undefined,
    entries: Readonly<Record<string, T>>,
    version = row === undefined ? undefined : this.of(row.description.name),
  ): Readonly<Record<string, T>> {
    const present = row?.description.schema?.version;
    if (present === undefined || version === undefined || version >= present) return entries;
    return namedAsBefore(entries, this.#steps(row, version, present));
  }

  #answeredSince(row: SourceRow | undefined, attributes: Attributes, since?: number): Attributes {
    const translate = row === undefined ? null : this.#newTranslation(row, formSince(row, since));
    return translate === null ? attributes : translate(attributes);
  }

  /** The app was newer when the change was made. */
  #older(
    row: SourceRow | undefined,
    { attributes, removed }: ObjectEdit,
    { version, app }: { readonly version: number; readonly app: number },
  ): ObjectEdit {
    const steps = this.#steps(row, app, version);
    const set = attributes && toOlder(attributes, steps);
    return { attributes: set, ...(removed === undefined ? {} : { removed: namesBefore(removed, steps) }) };
  }

  /** How stored objects become those of the app; null: they are. It is found once for each state of a source. */
  #translationOf(row: SourceRow): Translation | null {
    const known = this.#translations.get(row);
    if (known !== undefined) return known;
    const made = this.#newTranslation(row, row.form ?? formOf(row.description));
    this.#translations.set(row, made);
    return made;
  }

  #newTranslation(row: SourceRow, form: ObjectForm | undefined): Translation | null {
    const app = this.of(row.description.name);
    // Without a schema at the server there is nothing to translate from.
    if (form === undefined || app === undefined || row.description.schema === undefined) return null;
    const { oldest, newest } = form;
    if (oldest === app && newest === app) return null;
    // An app is newer than what the device has if it was updated without a network, or before the server.
    const ahead = Array.from({ length: Math.max(newest, app) - oldest }, (_, at) =>
      this.#steps(row, oldest + at, oldest + at + 1),
    );
    const back = app < newest ? this.#steps(row, app, newest) : [];
    return (attributes) => toOlder(ahead.reduce(renewed, attributes), back);
  }

  /** False: a newer app of another tab has made a change, and the device has not heard of its version yet. */
  #knows(row: SourceRow | undefined, version: number): boolean {
    const served = row?.description.schema?.version ?? 1;
    return version <= Math.max(served, row === undefined ? 1 : (this.of(row.description.name) ?? 1));
  }

  /** The steps between two versions, from the server or from the app: whichever knows more of them. */
  #steps(row: SourceRow | undefined, from: number, to: number): readonly Step[] {
    const served = row?.description.schema?.steps ?? [];
    const built = row === undefined ? [] : (this.#builtWith(row.description.name)?.steps ?? []);
    return (served.length >= built.length ? served : built).slice(from - 1, to - 1).flat();
  }

  #builtWith(source: string): BuiltWith | undefined {
    return Object.hasOwn(this.#built, source) ? this.#built[source] : undefined;
  }
}

/** The names of the attributes that are missing before the steps, where the given ones are missing after them. */
function namesBefore(missing: readonly string[], steps: readonly Step[]): readonly string[] {
  const names = new Set(missing);
  for (const { old, now } of steps.map(namesOf).reverse()) {
    const isMissing = now.length > 0 && now.every((name) => names.has(name));
    for (const name of now) names.delete(name);
    if (isMissing) for (const name of old) names.add(name);
  }
  return [...names];
}

/**
 * Of which versions an object is that came beside the pages when the source had the version `since`; absent: it has just come. Which
 * version the server had is not told.
 */
function formSince({ description }: SourceRow, since = Number.POSITIVE_INFINITY): ObjectForm | undefined {
  const form = formOf(description);
  return form && { ...form, oldest: Math.min(form.oldest, since) };
}
