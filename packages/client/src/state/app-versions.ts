import type { Attributes, ProblemRow, ShownProblem, SourceRow, UploadRow } from './rows.ts';

/** A change of an object. */
export type ObjectEdit = Pick<UploadRow, 'attributes' | 'removed'>;

/**
 * Translates between the versions of schemas that the app was built with and those of the server: objects are stored as the server has
 * them, and changes as the app has made them.
 */
export interface AppVersions {
  /** Source → version that the app was built with. */
  readonly all: Readonly<Record<string, number>>;
  /** The version of the schema of a source that the app was built with; undefined: it does not say. */
  of(source: string): number | undefined;
  /** True if the app knows stored objects as they are. */
  isSame(row: SourceRow | undefined): boolean;
  /** Returns the attributes of a stored object as the app knows them. */
  shown(row: SourceRow | undefined, attributes: Attributes): Attributes;
  /** Does the same for an object that the server has just sent beside the pages. */
  answered(row: SourceRow | undefined, attributes: Attributes): Attributes;
  /** Returns a problem with the change and the object as the app knows them. */
  problem(row: SourceRow | undefined, problem: ProblemRow): ShownProblem;
  /** Returns a change in the version of the app, whatever version it was made in. `seen` is the object that it changes. */
  changeOf(row: SourceRow | undefined, change: VersionedEdit, seen: Attributes | undefined): ObjectEdit;
  /** Returns what the server says by attribute under the names of a version; absent: that of the app. */
  named<T>(
    row: SourceRow | undefined,
    entries: Readonly<Record<string, T>>,
    version?: number,
  ): Readonly<Record<string, T>>;
}

export type VersionedEdit = ObjectEdit & Pick<UploadRow, 'source' | 'op' | 'version'>;
