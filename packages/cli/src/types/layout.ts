/** Text that is written on one line if it fits, and on several otherwise, as Biome does. */
export type Layout = string | Group;

interface Group {
  readonly open: string;
  readonly items: readonly Layout[];
  readonly close: string;
  readonly marks: Marks;
  /** True: several lines even if it would fit on one. */
  readonly isBroken: boolean;
}

/** What stands around the items. */
interface Marks {
  /** On one line: before the first, between two, and behind the last. */
  readonly flat: readonly [before: string, between: string, behind: string];
  /** On lines of their own: before and behind each. */
  readonly lines: readonly [before: string, behind: string];
}

const WIDTH = 120;
const INDENT = '  ';
const LIST: Marks = { flat: ['', ', ', ''], lines: ['', ','] };
const RECORD: Marks = { flat: [' ', ', ', ' '], lines: ['', ','] };
const UNION: Marks = { flat: ['', ' | ', ''], lines: ['| ', ''] };
const MEMBER_UNION: Marks = { ...UNION, flat: [' ', ' | ', ''] };

/** A list in brackets. */
export function listLayout(items: readonly Layout[], isBroken = false): Layout {
  return items.length === 0 ? '[]' : groupOf({ open: '[', items, close: ']', marks: LIST, isBroken });
}

/** Members in braces. */
export function recordLayout(members: readonly (readonly [key: string, value: Layout])[], isBroken = false): Layout {
  const items = members.map(([key, value]) => prefixed(`${key}: `, value));
  return items.length === 0 ? '{}' : groupOf({ open: '{', items, close: '}', marks: RECORD, isBroken });
}

/** The type of a list whose items are of these types. */
export function listTypeLayout(types: readonly Layout[]): Layout {
  const [only = ''] = types;
  if (types.length === 1 && typeof only === 'string' && !only.startsWith('readonly ')) return `readonly ${only}[]`;
  return groupOf({ open: 'readonly (', items: types, close: ')[]', marks: UNION, isBroken: false });
}

/** A member of a type that is of one of these types: `start` is `name:`. */
export function memberLayout(start: string, types: readonly Layout[]): Layout {
  const [only = ''] = types;
  if (types.length === 1) return prefixed(`${start} `, only);
  return groupOf({ open: start, items: types, close: '', marks: MEMBER_UNION, isBroken: false });
}

/** A call of a function with one argument. */
export function callLayout(callee: string, argument: Layout): Layout {
  return suffixed(prefixed(`${callee}(`, argument), ')');
}

export function prefixed(text: string, layout: Layout): Layout {
  return typeof layout === 'string' ? `${text}${layout}` : { ...layout, open: `${text}${layout.open}` };
}

export function suffixed(layout: Layout, text: string): Layout {
  return typeof layout === 'string' ? `${layout}${text}` : { ...layout, close: `${layout.close}${text}` };
}

/** Returns the text. `indent` is how deep its lines are, `after` what follows on its last line. */
export function render(layout: Layout, indent: number, after = ''): string {
  if (typeof layout === 'string') return `${layout}${after}`;
  const flat = `${flatText(layout)}${after}`;
  if (!layout.isBroken && INDENT.length * indent + flat.length <= WIDTH) return flat;
  const { open, items, marks, close } = layout;
  const [before, behind] = marks.lines;
  const inside = INDENT.repeat(indent + 1);
  const lines = items.map((item) => `${inside}${before}${render(item, indent + 1, behind)}`);
  const end = close === '' ? after : `\n${INDENT.repeat(indent)}${close}${after}`;
  return `${[open, ...lines].join('\n')}${end}`;
}

/** What contains several lines is on several lines. */
function groupOf(group: Group): Group {
  const isBroken = group.isBroken || group.items.some((item) => typeof item !== 'string' && item.isBroken);
  return { ...group, isBroken };
}

function flatText(layout: Layout): string {
  if (typeof layout === 'string') return layout;
  const { open, items, marks, close } = layout;
  const [before, between, behind] = marks.flat;
  return `${open}${before}${items.map(flatText).join(between)}${behind}${close}`;
}
