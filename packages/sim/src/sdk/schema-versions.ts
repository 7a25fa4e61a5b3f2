import type { Versions } from '@tidemark/client';
import type { Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { Violation } from '../runner/violation.ts';
import { builtWith, canonical, schemaOf, statedIn, stepsTo } from './app-versions.ts';
import { type Attributes, SOURCES, type SourceName } from './step.ts';

/** A moment at which a version is set in the middle of something else. */
export type RaceMoment = 'push' | 'ask';

export interface Race {
  readonly source: SourceName;
  readonly moment: RaceMoment;
  /** How many turns of the event loop later. */
  readonly turns: number;
  /** True: all objects are converted at once. */
  readonly converts: boolean;
}

/** Source → the version that an app was built with. */
export type AppVersion = ReadonlyMap<SourceName, number>;

/** The versions of the schemas of all sources: what the server has, as the simulation knows it. */
export class SchemaVersions {
  readonly #tidemark: Tidemark;
  readonly #present = new Map<SourceName, number>(SOURCES.map((source) => [source, 1]));
  readonly #converting = new Set<SourceName>();
  /** Sources of which a version was set while a request was answered, or a job ran. */
  readonly #changing = new Set<SourceName>();
  #race: Race | null = null;

  constructor(tidemark: Tidemark) {
    this.#tidemark = tidemark;
  }

  async open(): Promise<void> {
    for (const source of SOURCES) {
      await this.#tidemark.sources.schemas.set(source, { schema: schemaOf(1), mode: 'enforce' });
    }
  }

  get newest(): AppVersion {
    return new Map(this.#present);
  }

  /** Attributes as the backend states them. */
  stated(source: SourceName, attributes: Attributes): Attributes {
    return statedIn(this.#version(source), attributes);
  }

  /** Attributes that the server has, or asks its backend about. */
  canonical(source: SourceName, attributes: Attributes): Attributes {
    const version = this.#version(source);
    const mayBeOlder = this.#converting.has(source) || this.#changing.has(source);
    const versions = mayBeOlder ? [version, version - 1].filter((one) => one > 0) : [version];
    return required(canonical(attributes, versions), source, `the server has ${JSON.stringify(attributes)}`, version);
  }

  /** Nothing is set while objects are converted. */
  async setNext(source: SourceName): Promise<void> {
    const version = this.#version(source) + 1;
    const call = { schema: schemaOf(version), steps: stepsTo(version) };
    try {
      this.#changing.add(source);
      await this.#tidemark.sources.schemas.set(source, call);
      this.#present.set(source, version);
      this.#converting.add(source);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'schema_converting') throw error;
    }
  }

  /** Converts objects. `before` is called before each partition, and ends the run by returning false. */
  async convert(before: () => Promise<boolean> = async () => true): Promise<void> {
    await this.#tidemark.conversions.run(before);
    for (const source of SOURCES) {
      const { converting } = await this.#tidemark.sources.schemas.get(source);
      if (!converting) this.#converting.delete(source);
    }
  }

  arm(race: Race): void {
    this.#race = race;
  }

  /** Sets the version that waits for this moment. */
  async meet(moment: RaceMoment, source: SourceName | null): Promise<void> {
    const race = this.#race;
    if (race?.moment !== moment || (source !== null && race.source !== source)) return;
    this.#race = null;
    for (let turn = 0; turn < race.turns; turn++) await null;
    await this.setNext(race.source);
    if (race.converts) await this.convert();
  }

  /** What was being done when a version was set is done. */
  settle(): void {
    this.#changing.clear();
  }

  #version(source: SourceName): number {
    return this.#present.get(source) ?? 1;
  }
}

/** The constant of the generated types. */
export function versionsOf(app: AppVersion): Versions {
  return Object.fromEntries(Array.from(app, ([source, version]) => [source, builtWith(version)]));
}

/** Attributes that an app of that version shows. */
export function shownIn(app: AppVersion, source: SourceName, attributes: Attributes, host: string): Attributes {
  const version = app.get(source) ?? 1;
  return required(canonical(attributes, [version]), source, `${host} shows ${JSON.stringify(attributes)}`, version);
}

function required(found: Attributes | null, source: SourceName, what: string, version: number): Attributes {
  if (found !== null) return found;
  throw new Violation('SIM-23', `${what} in ${source}, which is not of version ${version}`);
}
