/**
 * The rows of the tables in a Markdown text whose first cell is a `name` in backticks.
 *
 * @returns {{name: string, cells: string[]}[]} `cells` are those after the first
 */
function namedRows(markdown) {
  return markdown
    .split('\n')
    .filter((line) => /^\| *`/.test(line))
    .map((line) => {
      const [name, ...cells] = line
        .replace(/^\||\|\s*$/g, '')
        .split('|')
        .map((cell) => cell.trim());
      return { name: name.replaceAll('`', ''), cells };
    });
}

/** Every refusal is in the table with its status and with words, and nothing else is. */
export function errorProblems(markdown, refusals) {
  const rows = namedRows(markdown);
  return [
    ...nameProblems(rows, Object.keys(refusals)),
    ...rows.flatMap(({ name, cells: [status, ...words] }) => {
      const wanted = refusals[name]?.status;
      const problems = [];
      if (wanted !== undefined && status !== String(wanted)) {
        problems.push(`${name}: the table says ${status}, the code ${wanted}`);
      }
      if (words.length !== 2 || words.includes('')) problems.push(`${name}: says not when it occurs and what to do`);
      return problems;
    }),
  ];
}

/** Every limit is in a table with its value and its unit, and with a refusal that exists or with what happens instead. */
export function limitProblems(markdown, limits, refusals) {
  const rows = namedRows(markdown);
  return [
    ...nameProblems(rows, Object.keys(limits)),
    ...rows.flatMap(({ name, cells: [value, unit, bounds, beyond = ''] }) => {
      const problems = [];
      const wanted = limits[name];
      if (wanted !== undefined && Number(value.replaceAll(',', '')) !== wanted) {
        problems.push(`${name}: the table says ${value}, the code ${wanted}`);
      }
      if (!unit || !bounds) problems.push(`${name}: has no unit, or does not say what it bounds`);
      const code = /^`([a-z_]+)`$/.exec(beyond)?.[1];
      if (code !== undefined ? refusals[code] === undefined : !/^– \S/.test(beyond)) {
        problems.push(`${name}: "${beyond}" is neither a refusal nor "– what happens instead"`);
      }
      return problems;
    }),
  ];
}

function nameProblems(rows, wanted) {
  const names = rows.map(({ name }) => name);
  return [
    ...wanted.filter((name) => !names.includes(name)).map((name) => `${name}: is missing in the table`),
    ...names.filter((name) => !wanted.includes(name)).map((name) => `${name}: is in the table, but not in the code`),
    ...names.filter((name, index) => names.indexOf(name) !== index).map((name) => `${name}: is in the table twice`),
  ];
}
