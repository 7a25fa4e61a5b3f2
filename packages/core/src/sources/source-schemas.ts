import {
  Refusal,
  type SchemaDiff,
  type SchemaReport,
  type SchemaView,
  type SourceSchema,
  type Step,
} from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import type { FoundFlaws, SchemaCheck } from '../admission/schema-check.ts';
import type { Clock } from '../ports/clock.ts';
import { isoTime } from '../primitives/time.ts';
import { admitSchemaChange, notAllowed, requireFitting, type SchemaChangeCall } from '../schemas/admit-change.ts';
import { classify, type SchemaChange, sameSchema } from '../schemas/classify.ts';
import type { CompiledSchema } from '../schemas/compiled-schema.ts';
import { SchemaCache } from '../schemas/schema-cache.ts';
import { SchemaReports } from '../schemas/schema-reports.ts';
import { type StoredSchema, schemaStateOf, versionOf } from '../schemas/stored-schema.ts';
import type { SourceRecord } from './source-record.ts';
import { type SourceView, viewOf } from './source-view.ts';

export interface SourceSchemasPorts {
  readonly clock: Clock;
  /** Returns the record of a source, or refuses. */
  readonly read: (source: string) => Promise<SourceRecord>;
  /** Writes what `change` makes of the record; null leaves it as it is. Calls it again if another write was faster. */
  readonly change: (source: string, change: (old: SourceRecord) => Promise<SourceRecord | null>) => Promise<void>;
  /** How many devices that were here lately were built with which version of the schema. */
  readonly devices: (source: string) => Promise<DeviceVersions>;
  /** Hears how many objects were written that do not fit a schema which only reports. */
  readonly onMisfits?: (source: string, objects: number) => void;
}

/** Version → number of devices. */
export interface DeviceVersions {
  readonly versions: ReadonlyMap<number, number>;
  /** Devices that have not said a version, and so have the newest one or none. */
  readonly unknown: number;
}

/** The schemas of sources and their versions. */
export class SourceSchemas {
  readonly #ports: SourceSchemasPorts;
  readonly #stored = new WeakMap<SourceView, StoredSchema>();
  readonly #compiled = new SchemaCache();
  readonly #writeChecks = new WeakMap<SourceView, SchemaCheck>();
  readonly #reports = new SchemaReports();

  constructor(ports: SourceSchemasPorts) {
    this.#ports = ports;
  }

  /** Returns the view of a source, of which `of` and `checkOf` know the schema. */
  viewOf(name: string, record: SourceRecord): SourceView {
    const view = viewOf(name, record);
    if (record.schema !== null) this.#stored.set(view, record.schema);
    return view;
  }

  /** The schema of a source that `find`, `view` or `list` returned; null: it has none. */
  of(view: SourceView): StoredSchema | null {
    return this.#stored.get(view) ?? null;
  }

  /** The check that the schema of such a source asks for, whatever its mode; null: it has none. */
  checkOf(view: SourceView): CompiledSchema | null {
    const stored = this.of(view);
    return stored === null ? null : this.#compiled.of(view.name, stored);
  }

  async get(name: unknown): Promise<SchemaView> {
    const source = admitSource(name);
    return schemaViewOf(source, requireSchema(source, (await this.#ports.read(source)).schema));
  }

  /** What the schema of such a source asks of writes; null: nothing is checked. */
  writeCheckOf(view: SourceView): SchemaCheck | null {
    const stored = this.of(view);
    if (stored === null || stored.mode === 'off') return null;
    const known = this.#writeChecks.get(view);
    if (known !== undefined) return known;
    const compiled = this.#compiled.of(view.name, stored);
    const check: SchemaCheck = {
      source: view.name,
      isEnforced: stored.mode === 'enforce',
      checksResults: !stored.converting,
      check: (attributes, resultNames) => compiled.check(attributes, resultNames),
      missing: (has) => compiled.missing(has),
      report: (found) => this.#noteMisfits(view.name, versionOf(stored), found),
    };
    this.#writeChecks.set(view, check);
    return check;
  }

  /** What would have been refused if the schema were enforced, as far as this process has seen it. */
  async report(name: unknown): Promise<SchemaReport> {
    const source = admitSource(name);
    const stored = requireSchema(source, (await this.#ports.read(source)).schema);
    const { objects, samples } = this.#reports.of(source, versionOf(stored));
    const shown = samples.map(({ atMs, ...sample }) => ({ ...sample, at: isoTime(atMs) }));
    return { source, mode: stored.mode, version: versionOf(stored), objects, samples: shown };
  }

  /**
   * Sets the schema, or only the mode or the oldest version. Another schema is a new version. One that breaks apps in use is
   * refused, unless the call forces it.
   */
  async set(name: unknown, call: unknown): Promise<SchemaView> {
    return this.#set(admitSource(name), admitSchemaChange(call));
  }

  async #set(source: string, wanted: SchemaChangeCall): Promise<SchemaView> {
    let next: StoredSchema | null = null;
    await this.#ports.change(source, async (old) => {
      next = await this.#next(source, old.schema, wanted);
      if (next === old.schema) return null;
      requireFitting(next);
      return { ...old, schema: next };
    });
    return schemaViewOf(source, requireSchema(source, next));
  }

  /**
   * Sets what the configuration says. The steps that led to the schema may stay there: they count only when it changes. The
   * error names the source.
   */
  async configure(source: string, call: Readonly<Record<string, unknown>> | null): Promise<void> {
    if (call === null) return;
    try {
      await this.#set(source, { ...admitSchemaChange(call), isDeclared: true });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new Refusal(error.code, `the schema of the source ${quoted(source)}: ${error.message}`, error.flaws);
    }
  }

  /** Says what `set` would do. */
  async diff(name: unknown, call: unknown): Promise<SchemaDiff> {
    const source = admitSource(name);
    const { schema, steps } = admitSchemaChange(call);
    if (schema === undefined) throw notAllowed('is needed', 'schema');
    const { schema: stored } = await this.#ports.read(source);
    const { versions, unknown } = await this.#ports.devices(source);
    const { kind, reasons } = changeOf(stored, schema, steps);
    const version = stored === null ? 1 : versionOf(stored) + (kind === 'equal' ? 0 : 1);
    const devices = Object.fromEntries([...versions].sort(([one], [other]) => one - other));
    return { source, kind, reasons: [...reasons], version, devices, devices_without_version: unknown };
  }

  /** Notes that all stored objects of the source are of this version. */
  async converted(source: string, version: number): Promise<void> {
    await this.#ports.change(source, async (old) => {
      if (old.schema === null || !old.schema.converting || versionOf(old.schema) !== version) return null;
      return { ...old, schema: { ...old.schema, converting: false } };
    });
  }

  #noteMisfits(source: string, version: number, found: FoundFlaws): void {
    this.#reports.add(source, version, found, this.#ports.clock.nowMs());
    this.#ports.onMisfits?.(source, found.objects);
  }

  async #next(source: string, old: StoredSchema | null, call: SchemaChangeCall): Promise<StoredSchema> {
    const settings = {
      ...(call.mode === undefined ? {} : { mode: call.mode }),
      ...(call.oldestVersion === undefined ? {} : { oldestVersion: call.oldestVersion }),
    };
    const { schema, force } = call;
    const steps = stepsFrom(old, call);
    const setAtMs = this.#ports.clock.nowMs();
    if (old === null) return { ...firstSchema(source, { ...call, steps }, setAtMs), ...settings };
    const change = schema === undefined ? NOTHING : changeOf(old, schema, steps);
    if (schema === undefined || change.kind === 'equal') {
      const same = renumbered(source, old, call.version);
      return isSame(same, settings) ? same : { ...same, ...settings };
    }
    const version = call.version ?? versionOf(old) + 1;
    if (version <= versionOf(old)) throw notNewer(old);
    if (old.converting) throw converting(source, old);
    if (change.kind === 'breaking' && !force) throw breaking(source, change, await this.#ports.devices(source));
    const next = { schema, steps: stepsUpTo(old.steps, version, steps), converting: steps.length > 0, setAtMs };
    return { ...old, ...next, ...settings };
  }
}

/** The steps of the configuration stay there after they have led to the schema, and where there was nothing that they could lead from. */
function stepsFrom(old: StoredSchema | null, { schema, steps, isDeclared = false }: SchemaChangeCall): readonly Step[] {
  if (!isDeclared) return steps;
  const isMade = old === null || (schema !== undefined && sameSchema(old.schema, schema));
  return isMade ? [] : steps;
}

function firstSchema(source: string, { schema, steps, version = 1 }: SchemaChangeCall, setAtMs: number): StoredSchema {
  if (schema === undefined) throw schemaNotFound(source);
  if (steps.length > 0) throw notAllowed('need an earlier version, and the source has no schema', 'steps');
  const first = { mode: 'report', schema, oldestVersion: 1, converting: false, setAtMs } as const;
  return { ...first, steps: stepsUpTo([], version, []) };
}

/** The same schema may get a greater number. */
function renumbered(source: string, old: StoredSchema, version = versionOf(old)): StoredSchema {
  if (version <= versionOf(old)) return old;
  if (old.converting) throw converting(source, old);
  return { ...old, steps: stepsUpTo(old.steps, version, []) };
}

/**
 * Returns the steps up to a version: the last lists lead to it from the one before. Versions that are left out were never here, so
 * nothing leads to them.
 */
function stepsUpTo(old: StoredSchema['steps'], version: number, last: readonly Step[]): StoredSchema['steps'] {
  const left = Math.max(0, version - 1 - old.length - 1);
  const isNew = version - 1 > old.length;
  return [...old, ...Array.from({ length: left }, () => []), ...(isNew ? [last] : [])];
}

function notNewer(old: StoredSchema): Refusal {
  return notAllowed(`must be greater than ${versionOf(old)}, the present version, for another schema`, 'version');
}

const NOTHING: SchemaChange = { kind: 'equal', reasons: [] };

/** Apps know nothing of the first version yet. */
function changeOf(stored: StoredSchema | null, schema: SourceSchema, steps: readonly Step[]): SchemaChange {
  return stored === null ? { kind: 'additive', reasons: [] } : classify(stored.schema, schema, steps);
}

function isSame(old: StoredSchema, settings: Partial<StoredSchema>): boolean {
  const { mode = old.mode, oldestVersion = old.oldestVersion } = settings;
  return mode === old.mode && oldestVersion === old.oldestVersion;
}

function schemaViewOf(source: string, stored: StoredSchema): SchemaView {
  const { schema, steps, setAtMs } = stored;
  return { source, ...schemaStateOf(stored), schema, steps, set_at: isoTime(setAtMs) };
}

function admitSource(name: unknown): string {
  return admitName('source', name, '/source');
}

function requireSchema(source: string, stored: StoredSchema | null): StoredSchema {
  if (stored === null) throw schemaNotFound(source);
  return stored;
}

function schemaNotFound(source: string): Refusal {
  return new Refusal('schema_not_found', `the source ${quoted(source)} has no schema`);
}

function converting(source: string, stored: StoredSchema): Refusal {
  const detail = `the objects of ${quoted(source)} are still being converted to version ${versionOf(stored)} of its schema`;
  return new Refusal('schema_converting', `${detail}; set the next version when that is done`);
}

function breaking(source: string, { reasons }: SchemaChange, { versions, unknown }: DeviceVersions): Refusal {
  const devices = [...versions]
    .sort(([one], [other]) => one - other)
    .map(([version, count]) => `${count} with version ${version}`);
  const counts = [...devices, ...(unknown > 0 ? [`${unknown} that have not said their version`] : [])];
  const here =
    counts.length === 0
      ? 'no device was here in the last 30 days'
      : `devices of the last 30 days: ${counts.join(', ')}`;
  const flaws = reasons.slice(0, SHOWN_REASONS_MAX).map((detail) => ({ pointer: '/schema', detail }));
  const left = reasons.length - SAID_REASONS_MAX;
  const more = left > 0 ? [`and ${left} more ${left === 1 ? 'reason' : 'reasons'}`] : [];
  const said = [...reasons.slice(0, SAID_REASONS_MAX), ...more, here].join('; ');
  return new Refusal('schema_breaking', `the new schema of ${quoted(source)} breaks older apps: ${said}`, flaws);
}

/** Reasons in the sentence of a refusal. */
const SAID_REASONS_MAX = 3;
/** Reasons that a refusal lists one by one. */
const SHOWN_REASONS_MAX = 10;
