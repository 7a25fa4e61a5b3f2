import type { Catalogue, CatalogueTable, ForeignKey } from '../catalogue/catalogue.ts';
import { UNDECIDED } from '../mapping/parse-mapping.ts';

const LOOKS_LIKE_USER =
  /^(?:user|login|username|user_name|user_id|owner|owner_id|assigned_to|assignee|author|email|account_id)$/i;
const LOOKS_LIKE_GROUP =
  /(?:group|team|tenant|depot|branch|site|region|org|organisation|organization|company|project|workspace)(?:_id)?$/i;
const LOOKS_LIKE_SECRET = /passw|pwd|secret|token|hash|salt/i;

/**
 * Writes a first mapping of all tables, with comments. Whose the rows are stays open: a guess that nobody looked at could
 * show the rows to everybody. Columns that look like secrets are left out.
 */
export function writeMapping({ tables }: Catalogue): string {
  const found = tables.filter(({ kind }) => kind === 'table' || kind === 'partitioned');
  const mapped = found.filter(({ isLogged }) => isLogged);
  const usable = mapped.filter(({ primaryKey }) => primaryKey.length > 0);
  const joins = usable.filter(isJoinTable);
  const sources = sourceNames(usable);
  const lines = [
    '// Which tables of the database become which sources of Tidemark. Decide about every "owner", take out the tables',
    '// that no device needs, then run: tidemark connect postgres --check',
    '{',
    '  "publication": "tidemark",',
    '  "slot": "tidemark",',
    '  "tables": {',
    ...usable
      .filter((table) => !joins.includes(table))
      .flatMap((table) => tableLines(table, sources.get(table.label) ?? '')),
    ...mapped
      .filter(({ primaryKey }) => primaryKey.length === 0)
      .map(
        ({ label }) =>
          `    // ${comment(label)} has no primary key: give it one, or map it with the columns of a unique index as "key".`,
      ),
    ...found
      .filter(({ isLogged }) => !isLogged)
      .map(
        ({ label }) =>
          `    // ${comment(label)} is unlogged: Postgres sends changes of logged tables only (ALTER TABLE … SET LOGGED).`,
      ),
    '  },',
    '  // Rows that make a user a member of a group, such as { "public.crews": { "user": "login", "group": "depot" } }.',
    '  "members": {',
    ...joins.flatMap(joinLines),
    '  },',
    '  // Rows that become users, such as { "public.people": { "login": "email", "attributes": { "full_name": "name" } } }.',
    '  "users": {},',
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

/** Two columns, both in the key: most likely who belongs to what. */
function isJoinTable({ primaryKey, columns }: CatalogueTable): boolean {
  return primaryKey.length === 2 && columns.length <= 3;
}

function joinLines({ label, primaryKey }: CatalogueTable): readonly string[] {
  const [first = '', second = ''] = primaryKey;
  const [user, group] = LOOKS_LIKE_USER.test(second) ? [second, first] : [first, second];
  return [
    '    // Take out the two slashes when the rows of this table make users members of groups, or move it to "tables".',
    `    // ${json(label)}: { "user": ${json(user)}, "group": ${json(group)} },`,
  ];
}

function tableLines(table: CatalogueTable, source: string): readonly string[] {
  const columns = table.columns.filter(({ name, isGenerated }) => !table.primaryKey.includes(name) && !isGenerated);
  const sent = columns.filter(({ name }) => !LOOKS_LIKE_SECRET.test(name));
  const secret = columns.filter(({ name }) => LOOKS_LIKE_SECRET.test(name)).map(({ name }) => name);
  const key = table.primaryKey.join(', ');
  return [
    `    // The key is ${comment(key)}${table.estimatedRows === null ? '' : `; about ${Math.round(table.estimatedRows)} rows`}.`,
    `    ${json(table.label)}: {`,
    `      "source": ${json(source)},`,
    ...ownerLines(table),
    ...(secret.length === 0 ? [] : [`      // Left out, because it looks secret: ${comment(secret.join(', '))}`]),
    '      "columns": {',
    ...sent.map(({ name, typeName }) => `        ${json(name)}: ${json(name)}, // ${comment(typeName)}`),
    '      },',
    '      // The columns that devices may change, and whether they may create and delete rows.',
    '      "writable": [],',
    '      "devices": { "create": false, "delete": false },',
    '    },',
  ];
}

function ownerLines({ columns, foreignKeys }: CatalogueTable): readonly string[] {
  const named = (pattern: RegExp) => columns.filter(({ name }) => pattern.test(name)).map(({ name }) => name);
  const choices = [
    ...named(LOOKS_LIKE_USER).map((name) => `{ "user": ${json(name)} }`),
    ...named(LOOKS_LIKE_GROUP).map((name) => `{ "group": ${json(name)} }`),
    ...foreignKeys.map(throughText),
    '"shared", which gives every row to every user',
  ];
  return [
    '      // Whose the rows are. It could be:',
    ...choices.map((choice) => `      //   ${choice}`),
    `      "owner": ${json(UNDECIDED)},`,
  ];
}

function throughText({ columns, parent }: ForeignKey): string {
  return `{ "through": [${columns.map(json).join(', ')}], "parent": ${json(parent)} }`;
}

/** The name of the table, with its schema where another schema has a table of that name. */
function sourceNames(tables: readonly CatalogueTable[]): ReadonlyMap<string, string> {
  const names = tables.map(({ name }) => name);
  const isAlone = (name: string) => names.indexOf(name) === names.lastIndexOf(name);
  return new Map(tables.map(({ label, schema, name }) => [label, isAlone(name) ? name : `${schema}_${name}`]));
}

function json(text: string): string {
  return JSON.stringify(text);
}

/** A name may hold a line break, which would end the comment. */
function comment(text: string): string {
  return text.replaceAll(/[\r\n\u2028\u2029]/g, ' ');
}
