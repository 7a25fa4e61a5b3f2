const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/;
const NUMBER = /\b\d[\d_]*(?:\.\d+)?\b/;
const SLASHES = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
const HASH = /(?<=^|\s)#[^\n]*/;

const WORDS = {
  js: 'as async await break case catch class const continue default else export extends false finally for from function if import in instanceof interface let new null of readonly return static switch this throw true try type typeof undefined var void while yield',
  py: 'and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None not or pass raise return True try while with yield',
  rb: 'begin break case class def do else elsif end ensure false for if in module next nil not or require rescue return self super then true unless until when while yield',
  sh: 'case do done echo elif else esac export fi for function if in then while',
};
const LANGUAGES = {
  js: [SLASHES, WORDS.js],
  json: [SLASHES, 'true false null'],
  python: [HASH, WORDS.py],
  ruby: [HASH, WORDS.rb],
  sh: [HASH, WORDS.sh],
};
const ALIASES = {
  ts: 'js',
  tsx: 'js',
  jsx: 'js',
  javascript: 'js',
  typescript: 'js',
  bash: 'sh',
  py: 'python',
  rb: 'ruby',
};

export function escapeHtml(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

/** Returns code as HTML with classes for comments, strings, numbers and keywords. Unknown languages stay plain. */
export function highlight(code, language) {
  if (language === 'console') return highlightConsole(code);
  const [comment, words] = LANGUAGES[ALIASES[language] ?? language] ?? [];
  if (comment === undefined) return escapeHtml(code);
  const keyword = `\\b(?:${words.replaceAll(' ', '|')})\\b`;
  const token = new RegExp(
    `(?<comment>${comment.source})|(?<string>${STRING.source})|(?<keyword>${keyword})|(?<number>${NUMBER.source})`,
    'gm',
  );
  let html = '';
  let end = 0;
  for (const match of code.matchAll(token)) {
    const [kind] = Object.entries(match.groups).find(([, text]) => text !== undefined);
    html += `${escapeHtml(code.slice(end, match.index))}<span class="${kind}">${escapeHtml(match[0])}</span>`;
    end = match.index + match[0].length;
  }
  return html + escapeHtml(code.slice(end));
}

/** Commands stand out from what they print. */
function highlightConsole(code) {
  return code
    .split('\n')
    .map((line) => {
      if (!line.startsWith('$ ')) return `<span class="output">${escapeHtml(line)}</span>`;
      return `<span class="prompt">$ </span><span class="command">${escapeHtml(line.slice(2))}</span>`;
    })
    .join('\n');
}
