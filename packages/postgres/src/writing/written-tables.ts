import type { Catalogue, CatalogueTable } from '../catalogue/catalogue.ts';
import type { Plan, TablePlan, WritingPlan } from '../mapping/plan.ts';
import { leafType } from '../values/leaf-type.ts';
import type { Types } from '../values/type-info.ts';
import type { TypedColumn, WrittenOwner, WrittenTable } from './written-table.ts';

/** The tables whose rows devices may change, from the plan and the catalogue that it was made with. */
export function writtenTables(plan: Plan, catalogue: Catalogue): readonly WrittenTable[] {
  const { types } = catalogue;
  const found = new Map(catalogue.tables.map((table) => [table.label, { ...table, types }]));
  return plan.tables.flatMap((table) => {
    const { writing } = table;
    if (writing === null || !found.has(table.label)) return [];
    return [writtenTable(plan, table, writing, (label) => required(found.get(label), label))];
  });
}

/** A table with the types of all columns. */
type Found = CatalogueTable & { readonly types: Types };

function required(table: Found | undefined, label: string): Found {
  if (table === undefined) throw new Error(`the database has no table ${label}`);
  return table;
}

function writtenTable(
  plan: Plan,
  table: TablePlan,
  writing: WritingPlan,
  find: (label: string) => Found,
): WrittenTable {
  const found = find(table.label);
  const { schema, name, label, source, key, attributes } = table;
  const { columns: inUpdate, createColumns, mayDelete, mayHandOver } = writing;
  return {
    ...{ schema, name, label, source, mayDelete, mayHandOver },
    mayCreate: createColumns !== null,
    key: key.map((column) => ({ ...typed(found, column.name), hasDefault: hasDefault(found, column.name) })),
    columns: attributes.map(({ name: column, attribute }) => ({
      ...typed(found, column),
      attribute,
      inUpdate: inUpdate.includes(column),
      inCreate: createColumns?.includes(column) ?? false,
    })),
    owner: ownerOf(plan, table, find),
  };
}

function ownerOf(plan: Plan, { label: own, owner }: TablePlan, find: (label: string) => Found): WrittenOwner {
  if (owner.kind === 'shared') return owner;
  if (owner.kind !== 'through') return { kind: owner.kind, column: typed(find(own), owner.column.name) };
  const parent = plan.tables.find(({ label }) => label === owner.parent);
  if (parent === undefined || (parent.owner.kind !== 'user' && parent.owner.kind !== 'group')) {
    throw new Error(`the table ${owner.parent} has no owner of its own`);
  }
  const { schema, name, key } = parent;
  return {
    kind: 'through',
    columns: owner.columns.map((column) => column.name),
    parent: {
      ...{ schema, name, key: key.map((column) => column.name) },
      ownerKind: parent.owner.kind,
      ownerColumn: typed(find(owner.parent), parent.owner.column.name),
    },
  };
}

function typed({ label, columns, types }: Found, name: string): TypedColumn {
  const column = columns.find((one) => one.name === name);
  if (column === undefined) throw new Error(`the table ${label} has no column ${name}`);
  return { name, typeName: column.bareTypeName, leaf: leafType(types, column.typeId) };
}

function hasDefault({ columns }: CatalogueTable, name: string): boolean {
  return columns.some((column) => column.name === name && column.hasDefault);
}
