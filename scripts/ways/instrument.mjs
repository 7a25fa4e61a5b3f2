import { parseAst } from 'rolldown/parseAst';

const FUNCTIONS = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);
const NAMELESS = '(module)';

/**
 * Returns the text of a module whose functions say on entry who they are: `globalThis.tidemarkEntered?.("file::function")`.
 * Nothing else about them changes. A function without a name has that of the variable, member or function that it is in.
 * Default values of parameters are computed before the body is entered, so what they call comes first.
 *
 * @param {string} text JavaScript
 * @param {string} file how the module is called in what is recorded
 */
export function instrument(text, file) {
  const insertions = [];
  visit(parseAst(text, {}, 'module.js'), NAMELESS, (body, name) => {
    const call = `globalThis.tidemarkEntered?.(${JSON.stringify(`${file}::${name}`)})`;
    if (body.type === 'BlockStatement') insertions.push([body.start + 1, `${call};`]);
    else insertions.push([body.start, `(${call},`], [body.end, ')']);
  });
  return insert(text, insertions);
}

/** Calls back for every function: its body and its name. `outer` is the name that those without one get. */
function visit(node, outer, onFunction) {
  const isFunction = FUNCTIONS.has(node.type);
  const name = (isFunction ? node.id?.name : undefined) ?? outer;
  if (isFunction) onFunction(node.body, name);
  for (const child of Object.values(node).flat()) {
    if (typeof child?.type === 'string') visit(child, nameGiven(node, child) ?? name, onFunction);
  }
}

/** Returns the name that a declaration, assignment or member gives to what is in its value. */
function nameGiven(node, child) {
  if (node.type === 'VariableDeclarator' && node.init === child) return node.id.name;
  if (node.type === 'AssignmentExpression' && node.right === child) return keyName(node.left);
  const isMember = node.key !== undefined && node.value === child && !node.computed;
  return isMember ? keyName(node.key) : undefined;
}

function keyName(key) {
  if (key.type === 'MemberExpression') return keyName(key.property);
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return key.name ?? (typeof key.value === 'string' ? key.value : undefined);
}

/** Of what is inserted at one place, the order is that of the list: sorting is stable. */
function insert(text, insertions) {
  let end = 0;
  const parts = insertions
    .toSorted(([a], [b]) => a - b)
    .map(([at, inserted]) => {
      const before = text.slice(end, at);
      end = at;
      return before + inserted;
    });
  return parts.join('') + text.slice(end);
}
