const BROWSERS = [
  ['Edge', /\bEdgA?\/(\d+)/],
  ['Edge', /\bEdgiOS\/(\d+)/],
  ['Opera', /\bOPR\/(\d+)/],
  ['Samsung Internet', /\bSamsungBrowser\/(\d+)/],
  ['Firefox', /\b(?:Firefox|FxiOS)\/(\d+)/],
  ['Chrome', /\b(?:Chrome|CriOS)\/(\d+)/],
  ['Safari', /\bVersion\/(\d+(?:\.\d+)?).* Safari\//],
] as const;

const SYSTEMS = [
  ['Android', /\bAndroid\b(?: (\d+))?/],
  ['iOS', /\biPhone OS (\d+)/],
  ['iPadOS', /\biPad;.*? OS (\d+)/],
  ['Windows', /\bWindows\b()/],
  ['macOS', /\bMac OS X\b()/],
  ['ChromeOS', /\bCrOS\b()/],
  ['Linux', /\bLinux\b()/],
] as const;

/**
 * Returns what people say instead of the user agent of a browser: "Firefox 128 on Linux". Versions of Windows and macOS are left
 * out, because browsers do not tell the true ones. Any other text stays as it is.
 */
export function shortSystem(text: string): string {
  if (!text.startsWith('Mozilla/')) return text;
  const parts = [found(BROWSERS, text), found(SYSTEMS, text)].filter((part) => part !== null);
  return parts.length === 0 ? 'unknown browser' : parts.join(' on ');
}

function found(kinds: typeof BROWSERS | typeof SYSTEMS, text: string): string | null {
  for (const [name, pattern] of kinds) {
    const match = pattern.exec(text);
    if (match !== null) return match[1] ? `${name} ${match[1]}` : name;
  }
  return null;
}
