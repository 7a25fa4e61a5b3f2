import { run } from './processes.mjs';
import { FIREFOX, installPrograms, PROGRAMS } from './programs.mjs';
import { setup } from './setup.mjs';

// Ends a test that hangs. The steps of a long run take minutes, on a busy machine ten times as long.
const TEST_MS_MAX = 3_600_000;

const given = process.argv.slice(2);
const isFirefox = given.includes('--firefox');
const folder = 'packages/server/src/routes/sync';
// The other tests of tabs use Playwright, which cannot drive Debian's Firefox.
const files = [`${folder}/killed-browser.test.ts`, ...(isFirefox ? [] : [`${folder}/tabs.test.ts`])];
const options = [`--testTimeout=${TEST_MS_MAX}`, ...given.filter((arg) => arg !== '--firefox')];
const env = {
  TIDEMARK_TAB_STEPS: '300',
  TIDEMARK_TAB_OBJECTS: '1000',
  ...process.env,
  // Firefox is driven through a WebSocket, for which Node.js 20 needs a flag.
  ...(isFirefox && { TIDEMARK_TAB_BROWSER: 'firefox', NODE_OPTIONS: '--experimental-websocket' }),
};

await setup();
const missing = await installPrograms(undefined, isFirefox ? [FIREFOX] : PROGRAMS);
if (missing !== null) {
  process.stderr.write(`tidemark: ${missing}\n`);
  process.exit(1);
}
process.exitCode = await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...files, ...options], {
  env,
});
