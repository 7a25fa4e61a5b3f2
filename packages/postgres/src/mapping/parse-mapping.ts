import { didYouMean, errorMessage, parseCommentedJson } from '@tidemark/protocol';
import type {
  DevicesMapping,
  Mapping,
  MembersMapping,
  OwnerMapping,
  TableMapping,
  UsersMapping,
  WritingMapping,
} from './mapping.ts';
import { MappingProblems } from './mapping-problems.ts';

/** What `--init` writes where a person has to decide. */
export const UNDECIDED = 'choose';

const TABLE_MEMBERS = ['source', 'key', 'columns', 'owner', 'writable', 'devices', 'conflicts'];

const OWNER_FORMS = `"shared", { "user": "column" }, { "group": "column" } or { "through": ["column"], "parent": "schema.table" }`;

/** Reads a mapping file: JSON with comments. Throws a `MappingError` with everything that is wrong in it. */
export function parseMapping(text: string, file: string): Mapping {
  const problems = new MappingProblems(file);
  const mapping = new MappingReader(problems).mapping(parsed(text, problems));
  problems.throwIfAny();
  return mapping;
}

function parsed(text: string, problems: MappingProblems): unknown {
  try {
    return parseCommentedJson(text);
  } catch (error) {
    problems.add([], errorMessage(error));
    problems.throwIfAny();
    throw error;
  }
}

type Path = readonly string[];
type Members = Readonly<Record<string, unknown>>;

class MappingReader {
  readonly #problems: MappingProblems;

  constructor(problems: MappingProblems) {
    this.#problems = problems;
  }

  mapping(value: unknown): Mapping {
    const members = this.#object(value, [], ['tables', 'members', 'users', 'publication', 'slot', 'writing']);
    return {
      publication: this.#name(members, 'publication', 'tidemark'),
      slot: this.#slot(members),
      ...(members.writing === undefined ? {} : { writing: this.#writing(members.writing) }),
      tables: this.#each(members, 'tables', (table, path) => this.#table(table, path)),
      members: this.#each(members, 'members', (table, path) => this.#members(table, path)),
      users: this.#each(members, 'users', (table, path) => this.#users(table, path)),
    };
  }

  #table(value: unknown, path: Path): TableMapping {
    const members = this.#object(value, path, TABLE_MEMBERS);
    const source = this.#text(members.source, [...path, 'source'], 'the name of the source');
    return {
      source,
      ...(members.key === undefined ? {} : { key: this.#list(members.key, [...path, 'key'], 1) }),
      ...(members.columns === undefined ? {} : { columns: this.#attributes(members.columns, [...path, 'columns']) }),
      owner: this.#owner(members.owner, [...path, 'owner']),
      ...(members.writable === undefined ? {} : { writable: this.#list(members.writable, [...path, 'writable'], 0) }),
      ...(members.devices === undefined ? {} : { devices: this.#devices(members.devices, [...path, 'devices']) }),
      ...(members.conflicts === undefined ? {} : { conflicts: this.#conflicts(members.conflicts, path) }),
    };
  }

  #devices(value: unknown, path: Path): DevicesMapping {
    const members = this.#object(value, path, ['create', 'delete', 'handOver']);
    const { create } = members;
    return {
      ...(Array.isArray(create) ? { create: this.#list(create, [...path, 'create'], 0) } : {}),
      ...this.#flags(Array.isArray(create) ? { ...members, create: undefined } : members, path),
    };
  }

  #flags(members: Members, path: Path): Readonly<Record<string, boolean>> {
    const given = ['create', 'delete', 'handOver'].filter((name) => members[name] !== undefined);
    return Object.fromEntries(
      given.map((name) => {
        if (typeof members[name] === 'boolean') return [name, members[name]];
        const expected = name === 'create' ? 'true, false or a list of columns' : 'true or false';
        this.#problems.add([...path, name], `expected ${expected}, got ${shown(members[name])}`);
        return [name, false];
      }),
    );
  }

  #conflicts(value: unknown, path: Path): 'last_writer' | 'detect' {
    if (value === 'last_writer' || value === 'detect') return value;
    this.#problems.add([...path, 'conflicts'], `expected "last_writer" or "detect", got ${shown(value)}`);
    return 'last_writer';
  }

  #writing(value: unknown): WritingMapping {
    const members = this.#object(value, ['writing'], ['role', 'hooks']);
    const text = (name: string, what: string) =>
      members[name] === undefined ? {} : { [name]: this.#text(members[name], ['writing', name], what) };
    return { ...text('role', 'a role of the database'), ...text('hooks', 'the path of a module') };
  }

  #owner(value: unknown, path: Path): OwnerMapping {
    if (value === 'shared') return value;
    if (value === undefined || value === UNDECIDED) {
      this.#problems.add(
        path,
        `decide whose data the rows are: ${OWNER_FORMS}. With "shared" every user gets every row`,
      );
      return 'shared';
    }
    if (typeof value !== 'object' || value === null) {
      this.#problems.add(path, `expected ${OWNER_FORMS}, got ${JSON.stringify(value)}`);
      return 'shared';
    }
    const members = this.#object(value, path, ['user', 'group', 'through', 'parent']);
    const kinds = Object.keys(members).sort().join();
    if (kinds === 'user') return { user: this.#text(members.user, [...path, 'user'], 'a column') };
    if (kinds === 'group') return { group: this.#text(members.group, [...path, 'group'], 'a column') };
    if (kinds === 'parent,through') return this.#through(members, path);
    this.#problems.add(path, `expected ${OWNER_FORMS}`);
    return 'shared';
  }

  #through(members: Members, path: Path): OwnerMapping {
    const columns = typeof members.through === 'string' ? [members.through] : members.through;
    const through = this.#list(columns, [...path, 'through'], 1);
    return { through, parent: this.#text(members.parent, [...path, 'parent'], 'a mapped table') };
  }

  #members(value: unknown, path: Path): MembersMapping {
    const members = this.#object(value, path, ['user', 'group']);
    const column = (name: string) => this.#text(members[name], [...path, name], 'a column');
    return { user: column('user'), group: column('group') };
  }

  #users(value: unknown, path: Path): UsersMapping {
    const members = this.#object(value, path, ['login', 'attributes']);
    const login = this.#text(members.login, [...path, 'login'], 'a column');
    if (members.attributes === undefined) return { login };
    return { login, attributes: this.#attributes(members.attributes, [...path, 'attributes']) };
  }

  #slot(members: Members): string {
    const slot = this.#name(members, 'slot', 'tidemark');
    if (!/^[a-z0-9_]{1,63}$/.test(slot)) {
      this.#problems.add(['slot'], 'the name of a slot has up to 63 lower-case letters, digits and underscores');
    }
    return slot;
  }

  #name(members: Members, name: string, otherwise: string): string {
    return members[name] === undefined ? otherwise : this.#text(members[name], [name], 'a name');
  }

  /** Column → attribute. */
  #attributes(value: unknown, path: Path): Readonly<Record<string, string>> {
    const members = this.#object(value, path, null);
    const entries = Object.entries(members).map(([column, attribute]): [string, string] => {
      return [column, this.#text(attribute, [...path, column], 'the name of an attribute')];
    });
    const names = entries.map(([, attribute]) => attribute);
    for (const [column, attribute] of entries) {
      if (names.indexOf(attribute) === names.lastIndexOf(attribute)) continue;
      this.#problems.add([...path, column], `two columns have the attribute "${attribute}": give each another name`);
    }
    return Object.fromEntries(entries);
  }

  #each<T>(members: Members, name: string, read: (value: unknown, path: Path) => T): Readonly<Record<string, T>> {
    if (members[name] === undefined) return {};
    const tables = this.#object(members[name], [name], null);
    return Object.fromEntries(Object.entries(tables).map(([table, value]) => [table, read(value, [name, table])]));
  }

  #list(value: unknown, path: Path, least: number): readonly string[] {
    if (!Array.isArray(value) || value.length < least) {
      this.#problems.add(path, `expected a list of columns, got ${shown(value)}`);
      return [];
    }
    const columns = value.map((item, index) => this.#text(item, [...path, String(index)], 'a column'));
    const twice = columns.find((column, index) => columns.indexOf(column) !== index);
    if (twice !== undefined) this.#problems.add(path, `the column "${twice}" is named twice`);
    return columns;
  }

  #text(value: unknown, path: Path, what: string): string {
    if (typeof value === 'string' && value !== '' && value !== '__proto__') return value;
    this.#problems.add(path, `expected ${what} as text, got ${shown(value)}`);
    return '';
  }

  /** `known` are the members it may have; null: any. */
  #object(value: unknown, path: Path, known: readonly string[] | null): Members {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#problems.add(path, `expected an object, got ${shown(value)}`);
      return {};
    }
    for (const name of Object.keys(value)) {
      if (known === null || known.includes(name)) continue;
      const similar = didYouMean(name, known);
      const hint = similar === null ? `it may have ${known.join(', ')}` : `did you mean "${similar}"?`;
      this.#problems.add([...path, name], `is unknown: ${hint}`);
    }
    return value as Members;
  }
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  return Array.isArray(value)
    ? 'a list'
    : value === null
      ? 'null'
      : typeof value === 'string'
        ? JSON.stringify(value)
        : `a ${typeof value}`;
}
