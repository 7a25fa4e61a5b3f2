import { expect, it } from 'vitest';
import { shortSystem } from './short-system.ts';

const KHTML = 'AppleWebKit/537.36 (KHTML, like Gecko)';
const WEBKIT = 'AppleWebKit/605.1.15 (KHTML, like Gecko)';

it.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 'Firefox 128 on Linux'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/126.0.0.0 Safari/537.36`, 'Chrome 126 on Windows'],
  [
    `Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${KHTML} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0`,
    'Edge 126 on Windows',
  ],
  [
    `Mozilla/5.0 (Linux; Android 14; Pixel 8) ${KHTML} Chrome/126.0.0.0 Mobile Safari/537.36`,
    'Chrome 126 on Android 14',
  ],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${WEBKIT} Version/17.5 Safari/605.1.15`, 'Safari 17.5 on macOS'],
  [
    `Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) ${WEBKIT} Version/17.5 Mobile/15E148 Safari/604.1`,
    'Safari 17.5 on iOS 17',
  ],
  ['Mozilla/5.0 (something new)', 'unknown browser'],
  ['Node.js 22.1.0 on linux', 'Node.js 22.1.0 on linux'],
])('[DEVICE-27] %s is shown in a few words', (agent, words) => {
  expect(shortSystem(agent)).toBe(words);
});
