import type { SqliteDriver } from './sqlite-driver.ts';

/** Where an app has its databases. */
export interface SqliteDatabases {
  /** The name of the first database, such as `tidemark.db`. Those that take its place are `tidemark-2.db`, `tidemark-3.db`, and so on. */
  readonly name: string;
  /** Returns the names of the files in the folder of the databases. Others among them do no harm. */
  list(): Promise<readonly string[]> | readonly string[];
  /** Opens a connection to the database of this name, and makes an empty one if there is none. */
  open(name: string): Promise<SqliteDriver> | SqliteDriver;
}

/**
 * Databases that took each other's place, by number. Nothing is renamed or deleted: the one with the highest number counts. So
 * a database and its log stay together, and a crash between two steps leaves one or the other.
 */
export class DatabaseSeries {
  readonly #databases: SqliteDatabases;
  readonly #stem: string;
  readonly #end: string;

  constructor(databases: SqliteDatabases) {
    this.#databases = databases;
    const dot = databases.name.lastIndexOf('.');
    this.#stem = dot > 0 ? databases.name.slice(0, dot) : databases.name;
    this.#end = dot > 0 ? databases.name.slice(dot) : '';
  }

  nameOf(number: number): string {
    return number === 1 ? this.#databases.name : `${this.#stem}-${number}${this.#end}`;
  }

  open(number: number): Promise<SqliteDriver> {
    // A factory that throws rejects.
    return Promise.resolve().then(() => this.#databases.open(this.nameOf(number)));
  }

  /** The numbers of the databases that there are, in ascending order. */
  async numbers(): Promise<readonly number[]> {
    const names = await this.#databases.list();
    return names.flatMap((name) => this.#numberOf(name)).sort((left, right) => left - right);
  }

  #numberOf(name: string): readonly number[] {
    if (name === this.#databases.name) return [1];
    if (!name.startsWith(`${this.#stem}-`) || !name.endsWith(this.#end)) return [];
    const number = Number(name.slice(this.#stem.length + 1, name.length - this.#end.length));
    return number > 1 && name === this.nameOf(number) ? [number] : [];
  }
}
