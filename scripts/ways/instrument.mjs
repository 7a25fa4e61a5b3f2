import { parseAst } from 'rolldown/parseAst';

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const NAMELESS = '(module)';

/**
 * Returns the text of a module whose functions each say on entry who they are: `globalThis.tidemarkEntered?.("file::function")`.
 * Nothing else about them changes. A function without a name has that of the function around it. Default values of
 * parameters are computed before the body is entered, so what they call comes first.
 *
 * @param {string} text JavaScript
 * @param {string} file how the module is called in what is recorded
 */
export function instrument(text, file) {
  const insertions = [];
  visit(parseAst(text, {}, 'module.js'), NAMELESS, (body, name) => {
    const call = `globalThis.tidemarkEntered?.(${JSON.stringify(`${file}::${name}`)})`;
    if (body.type === 'BlockStatement') {
      const directives = body.body.filter(({ directive }) => typeof directive === 'string');
      insertions.push([directives.at(-1)?.end ?? body.start + 1, `${call};`]);
    } else {
      insertions.push([body.start, `(${call},`], [body.end, ')']);
    }
  });
  return insert(text, insertions);
}

/** Calls back for every function, outer ones first: its body and its name. `outer` is the name of the function around. */
function visit(node, outer, onFunction, given = node.id?.name) {
  const name = FUNCTIONS.has(node.type) ? (given ?? outer) : outer;
  if (FUNCTIONS.has(node.type)) onFunction(node.body, name);
  for (const child of Object.values(node).flat()) {
    if (typeof child?.type === 'string') visit(child, name, onFunction, nameGiven(node, child));
  }
}

/** Returns the name that a declaration, assignment or member gives to the function that is its value. */
function nameGiven(node, child) {
  if (node.type === 'VariableDeclarator' && node.init === child) return child.id?.name ?? node.id.name;
  if (node.type === 'AssignmentExpression' && node.right === child) return child.id?.name ?? keyName(node.left);
  if (node.value === child && node.key !== undefined)
    return child.id?.name ?? (node.computed ? undefined : keyName(node.key));
  return child.id?.name;
}

function keyName(key) {
  if (key.type === 'MemberExpression') return keyName(key.property);
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return key.name ?? (typeof key.value === 'string' ? key.value : undefined);
}

/** Of what is inserted at one place, what opens comes in the order of the list, and what closes in the opposite order. */
function insert(text, insertions) {
  const sorted = insertions
    .map(([at, what], index) => ({ at, what, index }))
    .sort((a, b) => a.at - b.at || a.index - b.index);
  let end = 0;
  const parts = sorted.map(({ at, what }) => {
    const before = text.slice(end, at);
    end = at;
    return before + what;
  });
  return parts.join('') + text.slice(end);
}
