type Child = Node | string | null;

/** Makes an element without parsing HTML, which strict policies for content forbid. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function button(label: string, onClick: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button' }, label);
  made.addEventListener('click', onClick);
  return made;
}

/** Changes a text only if it differs, so that screen readers do not repeat it. */
export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

interface KeyedRow<T> {
  readonly element: HTMLElement;
  readonly update: (item: T) => void;
}

/** Children of an element by key: a row stays the same element while its item exists, so it keeps the focus. */
export class KeyedRows<T> {
  readonly #parent: HTMLElement;
  readonly #keyOf: (item: T) => string;
  readonly #make: (item: T) => KeyedRow<T>;
  readonly #rows = new Map<string, KeyedRow<T>>();

  constructor(parent: HTMLElement, keyOf: (item: T) => string, make: (item: T) => KeyedRow<T>) {
    this.#parent = parent;
    this.#keyOf = keyOf;
    this.#make = make;
  }

  show(items: readonly T[]): void {
    const wanted = new Map(items.map((item) => [this.#keyOf(item), item]));
    for (const [key, row] of this.#rows) {
      if (wanted.has(key)) continue;
      row.element.remove();
      this.#rows.delete(key);
    }
    let previous: Element | null = null;
    for (const [key, item] of wanted) {
      const row = this.#rows.get(key) ?? this.#make(item);
      this.#rows.set(key, row);
      row.update(item);
      const next: Element | null = previous === null ? this.#parent.firstElementChild : previous.nextElementSibling;
      if (next !== row.element) this.#parent.insertBefore(row.element, next);
      previous = row.element;
    }
  }
}

/** A table with a caption; its rows are texts, with buttons behind them if there are any. */
export class Table<T> {
  readonly element: HTMLElement;
  readonly #rows: KeyedRows<T>;
  readonly #empty: HTMLElement;
  readonly #table: HTMLElement;

  constructor(
    caption: string,
    options: {
      readonly columns: readonly string[];
      readonly empty: string;
      readonly keyOf: (item: T) => string;
      readonly cells: (item: T) => readonly string[];
      readonly buttons?: (item: T) => readonly HTMLButtonElement[];
    },
  ) {
    const { columns, empty, keyOf, cells, buttons } = options;
    const heads = columns.map((name) => element('th', { scope: 'col' }, name));
    const body = element('tbody');
    this.#table = element('table', { 'aria-label': caption }, element('thead', {}, element('tr', {}, ...heads)), body);
    this.#empty = element('p', { class: 'empty' }, empty);
    this.element = element('section', {}, element('h3', {}, caption), this.#table, this.#empty);
    this.#rows = new KeyedRows<T>(body, keyOf, (first) => {
      const texts = cells(first).map(() => element('td'));
      const actions = buttons?.(first) ?? [];
      const row = element(
        'tr',
        {},
        ...texts,
        actions.length === 0 ? null : element('td', { class: 'buttons' }, ...actions),
      );
      const update = (item: T) => {
        for (const [index, text] of cells(item).entries()) setText(texts[index] as Element, text);
      };
      return { element: row, update };
    });
  }

  show(items: readonly T[]): void {
    this.#rows.show(items);
    this.#table.hidden = items.length === 0;
    this.#empty.hidden = items.length > 0;
  }
}
