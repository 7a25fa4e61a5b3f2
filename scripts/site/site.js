// `search.mjs` stands before this file in the script that pages load.
const EXCERPT_UNITS = 140;
const root = document.documentElement;
const self = document.currentScript;

setUpTheme();
setUpMenu();
setUpCopying();
setUpSearch();

function setUpTheme() {
  const button = document.querySelector('button.theme');
  const isDark = () => {
    const { theme } = root.dataset;
    return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  };
  const show = () => button.setAttribute('aria-pressed', String(isDark()));
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    try {
      localStorage.setItem('tidemark-theme', root.dataset.theme);
    } catch {
      // The choice lasts for this page.
    }
    show();
  });
  show();
}

function setUpMenu() {
  const button = document.querySelector('button.menu');
  const set = (isOpen) => {
    root.classList.toggle('menu-open', isOpen);
    button.setAttribute('aria-expanded', String(isOpen));
  };
  button.addEventListener('click', () => set(!root.classList.contains('menu-open')));
  document.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') set(false);
  });
  document.querySelector('#sidebar [aria-current]')?.scrollIntoView({ block: 'center' });
}

/** Adds a button to every block of code. Of a session in a terminal it copies the commands. */
function setUpCopying() {
  for (const block of document.querySelectorAll('.code')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      const commands = [...block.querySelectorAll('.command')].map(({ textContent }) => textContent);
      await navigator.clipboard?.writeText(
        commands.length > 0 ? commands.join('\n') : block.querySelector('code').textContent,
      );
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1_500);
    });
    block.append(button);
  }
}

function setUpSearch() {
  const dialog = document.querySelector('dialog.finder');
  const input = dialog.querySelector('input');
  const list = dialog.querySelector('ul');
  let loading = null;
  const open = () => {
    loading ??= fetch(self.dataset.search).then((response) => response.json());
    if (!dialog.open) dialog.showModal();
    input.select();
  };
  document.querySelector('button.search').addEventListener('click', open);
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, textarea, [contenteditable]') !== null;
    const isShortcut = (event.key === '/' && !isTyping) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
    if (!isShortcut) return;
    event.preventDefault();
    open();
  });
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  input.addEventListener('input', async () => {
    const words = wordsOf(input.value);
    const sections = await loading;
    const found = words.length === 0 ? [] : search(sections, words);
    list.replaceChildren(...found.map((section) => resultItem(section, words)));
    dialog.querySelector('.found').textContent =
      words.length === 0 ? '' : found.length === 0 ? 'Nothing found' : `${found.length} results`;
  });
  dialog.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'Enter' && at === -1) links[0]?.click();
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const next = at + (event.key === 'ArrowDown' ? 1 : -1);
    (links[next] ?? (next < 0 ? input : links.at(-1)))?.focus();
  });
}

function resultItem([path, title, heading, text], words) {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = root.dataset.root + path;
  link.addEventListener('click', () => document.querySelector('dialog.finder').close());
  const name = document.createElement('strong');
  name.textContent = heading === '' ? title : `${title} › ${heading}`;
  const excerpt = document.createElement('span');
  excerpt.append(...marked(excerptOf(text, words), words));
  link.append(name, excerpt);
  item.append(link);
  return item;
}

function excerptOf(text, words) {
  const at = Math.max(
    0,
    Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((index) => index !== -1), text.length),
  );
  const start = at === text.length ? 0 : Math.max(0, text.lastIndexOf(' ', at - 30));
  return `${start > 0 ? '… ' : ''}${text.slice(start, start + EXCERPT_UNITS).trim()}${start + EXCERPT_UNITS < text.length ? ' …' : ''}`;
}

/** Splits a text into nodes, with the words marked. */
function marked(text, words) {
  const pattern = new RegExp(`(${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`, 'gi');
  return text.split(pattern).map((part, index) => {
    if (index % 2 === 0) return part;
    const mark = document.createElement('mark');
    mark.textContent = part;
    return mark;
  });
}
