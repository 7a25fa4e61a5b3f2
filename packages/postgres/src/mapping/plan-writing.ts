import { SOURCE_REFERENCES_MAX } from '@tidemark/protocol';
import type { CatalogueTable } from '../catalogue/catalogue.ts';
import type { Mapping, TableMapping } from './mapping.ts';
import type { MappingProblems } from './mapping-problems.ts';
import type { AttributePlan, WritingPlan } from './plan.ts';

/** What the planning of all tables has in common. */
interface Planning {
  readonly problems: MappingProblems;
  readonly mapping: Mapping;
  readonly tables: ReadonlyMap<string, CatalogueTable>;
}

interface PlannedWriting {
  readonly table: CatalogueTable;
  readonly mapped: TableMapping;
  readonly attributes: readonly AttributePlan[];
  readonly path: readonly string[];
}

/** Says what devices may change of a table; null: nothing. */
export function planWriting(planning: Planning, one: PlannedWriting): WritingPlan | null {
  const { problems } = planning;
  const { path } = one;
  const { writable = [], devices = {}, conflicts = null } = one.mapped;
  const added = typeof devices.create === 'object' ? devices.create : [];
  requireSent(problems, one, writable, [...path, 'writable']);
  requireSent(problems, one, added, [...path, 'devices', 'create']);
  const { create = false, delete: mayDelete = false, handOver: mayHandOver = false } = devices;
  const createColumns = create === false ? null : [...new Set([...writable, ...added])];
  if (createColumns !== null) requireCreatable(problems, one, createColumns);
  if (writable.length === 0 && createColumns === null && !mayDelete) return null;
  return {
    columns: writable,
    createColumns,
    mayDelete,
    mayHandOver,
    conflicts,
    references: findReferences(planning, one),
  };
}

/** Devices can only write what they have. */
function requireSent(
  problems: MappingProblems,
  { table, attributes }: PlannedWriting,
  names: readonly string[],
  path: readonly string[],
): void {
  for (const name of names) {
    const isThere = table.columns.some((column) => column.name === name);
    if (!isThere) problems.add(path, `the table "${table.label}" has no column "${name}"`);
    else if (!attributes.some((attribute) => attribute.name === name)) {
      problems.add(path, `devices cannot write "${name}", because "columns" does not send it to them`);
    }
  }
}

/** Every column that a new row needs must be given by devices, by its default or by the owner. */
function requireCreatable(problems: MappingProblems, one: PlannedWriting, given: readonly string[]): void {
  const { table, path } = one;
  const { through, own } = ownerColumns(one.mapped);
  for (const column of table.columns.filter(({ name }) => !given.includes(name) && !own.includes(name))) {
    const problem = through.includes(column.name)
      ? `devices must give "${column.name}" to a new row, because it says whose the row is: name it here`
      : isNeeded(table, column)
        ? `devices could create no row, because "${column.name}" must not be null and has no default: name it here, or give it a default`
        : null;
    if (problem !== null) problems.add([...path, 'devices', 'create'], problem);
  }
}

/** The columns that say whose a row is: by itself, or through its parent. */
function ownerColumns({ owner }: TableMapping): Record<'own' | 'through', readonly string[]> {
  if (owner === 'shared') return { own: [], through: [] };
  return 'through' in owner ? { own: [], through: owner.through } : { own: Object.values(owner), through: [] };
}

function isNeeded({ primaryKey }: CatalogueTable, column: CatalogueTable['columns'][number]): boolean {
  if (column.isNullable || column.hasDefault || column.isGenerated) return false;
  // A key of one column gets the id of the device.
  const isKey = primaryKey.length === 1 && primaryKey[0] === column.name;
  return !(isKey && /^(?:uuid|text|character varying)/.test(column.typeName));
}

/** The attributes that hold the id of an object of another mapped table. */
export function findReferences(
  { mapping, tables }: Pick<Planning, 'mapping' | 'tables'>,
  { table, mapped: { owner }, attributes }: Pick<PlannedWriting, 'table' | 'mapped' | 'attributes'>,
): Readonly<Record<string, string>> {
  const through = owner !== 'shared' && 'through' in owner ? [{ columns: owner.through, parent: owner.parent }] : [];
  const found: [string, string][] = [];
  for (const key of [...table.foreignKeys, ...through]) {
    const parent = Object.hasOwn(mapping.tables, key.parent) ? mapping.tables[key.parent] : undefined;
    const parentKey = parent?.key ?? tables.get(key.parent)?.primaryKey ?? [];
    const attribute = attributes.find(({ name }) => name === key.columns[0])?.attribute;
    const isOfKey = !('parentColumns' in key) || key.parentColumns.join() === parentKey.join();
    if (parent === undefined || attribute === undefined || parentKey.length !== 1 || !isOfKey) continue;
    found.push([attribute, parent.source]);
  }
  return Object.fromEntries(found.slice(0, SOURCE_REFERENCES_MAX));
}
