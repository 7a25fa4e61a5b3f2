import {
  type AttributeChange,
  type AttributeValues,
  type Limits,
  namedAsBefore,
  parseJson,
  Refusal,
  renewed,
  type SourceVersions,
  type Step,
  toNewer,
  Untranslatable,
} from '@tidemark/protocol';
import { admitAttributes } from '../admission/admit-objects.ts';
import { type RenewedObject, renewedObject } from '../documents/convert-objects.ts';
import type { FoundObject } from '../documents/effect.ts';
import type { Verdict } from '../documents/verdicts.ts';
import type { ObjectRecord } from '../journal/record.ts';
import { type AdmittedUpload, withoutAttributes } from './admit-upload.ts';

/** The versions of the schema of a source; null: it has none. */
export type UploadVersions = SourceVersions | null;

/**
 * Returns the steps from the version of an upload to the present one. An upload that names no version is of the present one. How old
 * it may be does not matter: an app that was updated sends what it kept before.
 */
function stepsOf(versions: UploadVersions, source: string, version: number | undefined): readonly Step[] {
  if (version === undefined) return NO_STEPS;
  if (versions !== null && version <= versions.version) return versions.steps.slice(version - 1).flat();
  const has = versions === null ? 'has no schema' : `has version ${versions.version}`;
  const detail = `the change is of version ${version} of ${JSON.stringify(source)}, which ${has}`;
  throw new Refusal('schema_version_unknown', detail);
}

const NO_STEPS: readonly Step[] = [];

/** Returns the upload in the present version. `current` is the object that it changes; null: there is none. */
export function translated(
  upload: AdmittedUpload,
  { source, versions }: { readonly source: string; readonly versions: UploadVersions },
  current: ObjectRecord | null,
  limits: Limits,
): AdmittedUpload {
  const { version, ...present } = upload;
  const steps = stepsOf(versions, source, version);
  // Without an object an update is refused anyway, and a deletion has nothing to translate.
  if (steps.length === 0 || upload.op === 'delete' || (upload.op === 'update' && current === null)) return present;
  const set = parseJson(upload.attributes.text) as AttributeValues;
  const before = upload.op === 'create' || current === null ? null : presentValues(current, versions);
  const change = newerOf({ set, removed: upload.removed }, before, steps);
  const attributes = admitAttributes(change.set, limits, ['attributes']);
  if (upload.op === 'create' && attributes.isEmpty) throw withoutAttributes();
  return { ...present, attributes, removed: change.removed };
}

function newerOf(change: AttributeChange, before: AttributeValues | null, steps: readonly Step[]): AttributeChange {
  try {
    return toNewer(change, before, steps);
  } catch (error) {
    if (error instanceof Untranslatable) throw new Refusal('not_translatable', error.message);
    throw error;
  }
}

/** The names by which an upload of an older version calls attributes, those that somebody else has changed among them. */
export function conflictingAsGiven(
  given: AdmittedUpload,
  { source, versions }: { readonly source: string; readonly versions: UploadVersions },
  current: ObjectRecord,
  conflicting: readonly string[],
): readonly string[] {
  const steps = stepsOf(versions, source, given.version);
  if (steps.length === 0) return conflicting;
  const before = presentValues(current, versions);
  const set = parseJson(given.attributes.text) as AttributeValues;
  const isConcerned = (change: AttributeChange) => {
    const newer = alone(change, before, steps);
    if (newer === null) return true;
    const { set: now, removed } = newer;
    return conflicting.some((name) => Object.hasOwn(now, name) || removed.includes(name));
  };
  return [
    ...Object.entries(set).flatMap(([name, value]) => {
      return isConcerned({ set: { [name]: value }, removed: [] }) ? [name] : [];
    }),
    ...given.removed.filter((name) => isConcerned({ set: {}, removed: [name] })),
  ];
}

/** Returns a part of a change in the present version; null: it has a translation only together with the other parts. */
function alone(part: AttributeChange, before: AttributeValues, steps: readonly Step[]): AttributeChange | null {
  try {
    return toNewer(part, before, steps);
  } catch (error) {
    if (error instanceof Untranslatable) return null;
    throw error;
  }
}

/** Returns entries by attribute under the names of the version that an upload is of. */
export function asNamedIn<T>(
  entries: ReadonlyMap<string, T>,
  versions: UploadVersions,
  version: number | undefined,
): ReadonlyMap<string, T> {
  if (version === undefined || versions === null || version >= versions.version) return entries;
  const steps = versions.steps.slice(version - 1).flat();
  return new Map(Object.entries(namedAsBefore(Object.fromEntries(entries), steps)));
}

/** An object in the present version. */
export interface PresentObject extends Pick<ObjectRecord, 'attributes' | 'marks'> {
  /** Absent: it is stored in the present version. */
  readonly carried?: RenewedObject['carried'];
}

/**
 * Returns the object that an upload changes in the present version. While the server converts objects, it may be of the version
 * before: what an upload removes would come back with the conversion.
 */
export function presentObject(current: ObjectRecord, versions: UploadVersions, limits: Limits): PresentObject {
  const next = versions?.converting === true ? renewedObject(current, versions.steps.at(-1) ?? NO_STEPS, limits) : null;
  if (next === null) return current;
  const { attributes, carried } = next;
  const { marks } = current;
  return { attributes, carried, marks: { ...marks, carried: new Map([...(marks.carried ?? []), ...carried]) } };
}

/** Returns what a conversion that goes with a change carries over: that of attributes which the change leaves alone. */
export function carriedBeside(present: PresentObject | null, verdict: Verdict): Pick<FoundObject, 'carried'> {
  if (present?.carried === undefined || verdict === null || verdict === 'gone') return {};
  const isLeft = (name: string) => verdict.get(name) === present.attributes.get(name);
  return { carried: new Map([...present.carried].filter(([name]) => isLeft(name))) };
}

/** While the server converts objects, this one may be of the version before. */
function presentValues({ attributes }: ObjectRecord, versions: UploadVersions): AttributeValues {
  const values = parseJson(attributes.text) as AttributeValues;
  return versions?.converting === true ? renewed(values, versions.steps.at(-1) ?? NO_STEPS) : values;
}
