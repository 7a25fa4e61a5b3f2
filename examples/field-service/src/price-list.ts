import { type SourceHandlers, sourceHandlers } from '@tidemark/backend';
import type { Database, Row } from './database.ts';

export type Part = {
  readonly name: string;
  readonly unit: string;
  readonly price_cents: number;
  readonly stock: number;
};

const FOUND_MAX = 50;

/** The price list all technicians share. Only the office changes it, so there is nothing but reading here. */
export function priceList(database: Database): SourceHandlers {
  return sourceHandlers<Part>({
    *query() {
      for (const row of database.all('SELECT * FROM parts ORDER BY id')) yield [String(row.id), shown(row)];
    },

    search({ params }) {
      const text = typeof params === 'object' && params !== null && 'text' in params ? String(params.text) : '';
      const sql = "SELECT * FROM parts WHERE name LIKE '%' || ? || '%' ORDER BY name LIMIT ?";
      return database.all(sql, text, FOUND_MAX).map((row) => [String(row.id), shown(row)] as const);
    },
  });
}

/** As devices have it. */
export function lookAtPart(database: Database, id: string): Part | null {
  const row = database.get('SELECT * FROM parts WHERE id = ?', id);
  return row === null ? null : shown(row);
}

function shown({ name, unit, price_cents, stock }: Row): Part {
  return { name: String(name), unit: String(unit), price_cents: Number(price_cents), stock: Number(stock) };
}
