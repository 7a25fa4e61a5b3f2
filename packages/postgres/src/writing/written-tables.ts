import type { Catalogue, CatalogueTable } from '../catalogue/catalogue.ts';
import type { Plan, TablePlan, WritingPlan } from '../mapping/plan.ts';
import type { TypedColumn, WrittenOwner, WrittenTable } from './written-table.ts';

/** The tables whose rows devices may change, from the plan and the catalogue that it was made with. */
export function writtenTables(plan: Plan, catalogue: Catalogue): readonly WrittenTable[] {
  const found = new Map(catalogue.tables.map((table) => [table.label, table]));
  return plan.tables.flatMap((table) => {
    const { writing } = table;
    const inCatalogue = found.get(table.label);
    return writing === null || inCatalogue === undefined ? [] : [writtenTable(plan, table, writing, inCatalogue)];
  });
}

function writtenTable(plan: Plan, table: TablePlan, writing: WritingPlan, found: CatalogueTable): WrittenTable {
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
    owner: ownerOf(plan, table, found),
  };
}

function ownerOf(plan: Plan, { owner }: TablePlan, found: CatalogueTable): WrittenOwner {
  if (owner.kind === 'shared') return owner;
  if (owner.kind !== 'through') return { kind: owner.kind, column: typed(found, owner.column.name) };
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
      ownerColumn: parent.owner.column.name,
    },
  };
}

function typed({ label, columns }: CatalogueTable, name: string): TypedColumn {
  const column = columns.find((one) => one.name === name);
  if (column === undefined) throw new Error(`the table ${label} has no column ${name}`);
  return { name, typeName: column.bareTypeName };
}

function hasDefault({ columns }: CatalogueTable, name: string): boolean {
  return columns.some((column) => column.name === name && column.hasDefault);
}
