export { type BuiltApp, type BuiltAppOptions, startBuiltApp } from './kit/built-app.ts';
export {
  callsTo,
  consoleOf,
  HOSTILE,
  heading,
  openScreen,
  PATIENCE,
  REFUSED,
  runShell,
  screensOf,
  signIn,
} from './kit/console-page.ts';
export { type Outcome, runInProcess } from './kit/run-cli.ts';
export {
  ADMIN_PASSWORD,
  fastPasswords,
  logIn,
  silentLog,
  startTestServer,
  type TestServer,
  testConfig,
} from './kit/test-server.ts';
