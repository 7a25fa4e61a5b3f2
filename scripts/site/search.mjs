const RESULTS_MAX = 20;
/** Words of a question that say nothing about what is looked for. */
const NOISE = new Set(
  'a an and are behind by can do does for how i in is it my of on or the to what when why with'.split(' '),
);

/** The words of a query that are looked for: without noise, and without the plural, so that it finds the singular, too. */
export function wordsOf(text) {
  const all = text
    .toLowerCase()
    .split(/[\s,;:!?"()]+/)
    .filter((word) => word !== '');
  const telling = all.filter((word) => !NOISE.has(word));
  return [...new Set((telling.length === 0 ? all : telling).map(singular))];
}

function singular(word) {
  return word.length > 3 && word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/**
 * The sections that have any of the words, the best first: those with more of the words before those with fewer, then by
 * where they have them. A word counts most in a heading, then in the title of the page, then in the text. A whole page
 * comes before a section of another one.
 */
export function search(sections, words) {
  return sections
    .map((section) => ({ section, ...scoreOf(section, words) }))
    .filter(({ matches }) => matches > 0)
    .sort((one, other) => other.matches - one.matches || other.score - one.score || rankOf(one) - rankOf(other))
    .slice(0, RESULTS_MAX)
    .map(({ section }) => section);
}

function rankOf({ section: [, , heading] }) {
  return heading === '' ? 0 : 1;
}

function scoreOf([path, title, heading, text], words) {
  // Records of decisions and the catalogue of rules mention every word; guides are what most people look for.
  let score = /^(?:decisions\/|rules)/.test(path) ? 0.4 : 1;
  let matches = 0;
  for (const word of words) {
    const points =
      pointsOf(heading === '' ? title : heading, word) * 10 +
      pointsOf(heading === '' ? '' : title, word) * 3 +
      pointsOf(text, word);
    if (points === 0) continue;
    matches++;
    score *= points;
  }
  return { matches, score };
}

function pointsOf(text, word) {
  const at = text.toLowerCase().indexOf(word);
  if (at === -1) return 0;
  return at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]) ? 2 : 1;
}
