import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BidiSession } from './bidi-session.ts';
import { findProgram } from './find-program.ts';
import { type KillableBrowser, startBrowserProcess, type Tab } from './killable-browser.ts';
import { startLoopbackProxy } from './loopback-proxy.ts';

const NAVIGATIONS_MAX = 5;

/**
 * Starts Firefox without a window, with the profile in this folder, so that the next one finds what it has stored. Playwright
 * cannot drive a Firefox that is not its own build before version 143, so this speaks WebDriver BiDi to it.
 * Its requests pass a proxy, which keeps Firefox on this machine and can be switched off: `navigator.onLine` stays true then.
 */
export async function launchKillableFirefox(folder: string): Promise<KillableBrowser> {
  const program = findProgram({ names: ['firefox-esr', 'firefox'], variable: 'TIDEMARK_FIREFOX' });
  const proxy = await startLoopbackProxy();
  await writeFile(join(folder, 'user.js'), preferencesWith(proxy.port));
  const args = ['--headless', '--remote-debugging-port=0', '--profile', folder];
  const addressFile = join(folder, 'WebDriverBiDiServer.json');
  const addressIn = (text: string) => /"ws_port": *(\d+)\D/.exec(text)?.[1];
  const started = startBrowserProcess({ program, args, addressFile, addressIn });
  const { address: port, kill: killProcess } = await started.catch((error) => {
    proxy.close();
    throw error;
  });
  const kill = async () => {
    await killProcess();
    proxy.close();
  };
  const errors: string[] = [];
  try {
    const session = await BidiSession.open(`ws://127.0.0.1:${port}/session`, (_, params) => {
      const { level, text } = params as { readonly level: string; readonly text: string };
      if (level === 'error') errors.push(text);
    });
    return {
      errors,
      openTab: (url) => openTab(session, url),
      setOffline: async (isOffline) => proxy.setOffline(isOffline),
      kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}

function preferencesWith(proxyPort: number): string {
  const preferences = {
    'network.proxy.type': 1,
    'network.proxy.http': '127.0.0.1',
    'network.proxy.http_port': proxyPort,
    'network.proxy.ssl': '127.0.0.1',
    'network.proxy.ssl_port': proxyPort,
    // Firefox sends requests to this machine around a proxy unless it is told otherwise.
    'network.proxy.allow_hijacking_localhost': true,
    // After some kills Firefox would start in safe mode.
    'toolkit.startup.max_resumed_crashes': -1,
    // Tabs are opened by the test, not by Firefox.
    'browser.sessionstore.resume_from_crash': false,
  };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`);
  return lines.join('');
}

async function openTab(session: BidiSession, url: string): Promise<Tab> {
  const { context } = (await session.send('browsingContext.create', { type: 'tab' })) as { readonly context: string };
  // Pages of Firefox itself log errors, too, so the test hears of its own tabs only.
  await session.send('session.subscribe', { events: ['log.entryAdded'], contexts: [context] });
  await navigate(session, context, url);
  return {
    evaluate: (expression) => evaluate(session, context, expression),
    reload: async () => void (await session.send('browsingContext.reload', { context, wait: 'complete' })),
    close: async () => void (await session.send('browsingContext.close', { context })),
  };
}

/** The empty page of a new tab may still be loading. On a busy machine its end interrupts what comes next, which is tried again. */
async function navigate(session: BidiSession, context: string, url: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await session.send('browsingContext.navigate', { context, url, wait: 'complete' });
      return;
    } catch (error) {
      if (attempt === NAVIGATIONS_MAX || !/interrupted an unfinished navigation/.test(String(error))) throw error;
    }
  }
}

interface Evaluated {
  readonly result?: { readonly value?: string };
  readonly exceptionDetails?: { readonly text: string };
}

async function evaluate(session: BidiSession, context: string, expression: string): Promise<unknown> {
  const { result, exceptionDetails } = (await session.send('script.evaluate', {
    // BiDi has a notation of its own for values; JSON saves its decoder.
    expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
    target: { context },
    awaitPromise: true,
  })) as Evaluated;
  if (exceptionDetails !== undefined) throw new Error(exceptionDetails.text);
  return result?.value === undefined ? undefined : JSON.parse(result.value);
}
