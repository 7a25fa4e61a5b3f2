import type { ColumnPlan, OwnerPlan, TablePlan } from './plan.ts';

/** Without the columns that the table does not have. */
export function fittingTable(table: TablePlan): TablePlan {
  const { key, attributes: all, owner, writing } = table;
  const attributes = existing(all);
  const fitting = (names: readonly string[]) => names.filter((name) => attributes.some((one) => one.name === name));
  return {
    ...table,
    key: existing(key),
    attributes,
    owner: fittingOwner(owner),
    writing: writing && {
      ...writing,
      columns: fitting(writing.columns),
      createColumns: writing.createColumns && fitting(writing.createColumns),
    },
  };
}

function fittingOwner(owner: OwnerPlan): OwnerPlan {
  if (owner.kind === 'shared') return owner;
  if (owner.kind === 'through') return { ...owner, columns: existing(owner.columns) };
  return existing([owner.column]).length === 0 ? { kind: 'shared' } : owner;
}

/** A column that the table does not have has no type. */
export function existing<C extends ColumnPlan>(columns: readonly C[]): readonly C[] {
  return columns.filter(({ typeId }) => typeId !== 0);
}
