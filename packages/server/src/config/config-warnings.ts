import { isIPv4 } from 'node:net';
import type { SettingProblem } from './config-problem.ts';
import { isHttpsUrl } from './kinds.ts';
import type { Settings } from './schema.ts';

/** Passwords that attackers try first. */
const COMMON_PASSWORDS: ReadonlySet<string> = new Set([
  'admin',
  'administrator',
  'changeme',
  'default',
  'letmein',
  'password',
  'root',
  'secret',
  'tidemark',
  '12345678',
]);

/** Returns warnings about settings that are allowed but risky. */
export function configWarnings(settings: Settings, userId: number | null): readonly SettingProblem[] {
  const { admin_login, admin_password, host, public_url, trust_proxy, store, files } = settings;
  const warnings: SettingProblem[] = [];
  if (userId === 0) {
    const detail = 'the server runs as root; a separate user limits the damage of a security hole';
    warnings.push({ setting: null, origin: 'process', detail });
  }
  if (!isLoopback(host) && !hasProxy(settings)) {
    const detail = `host ${host} is reachable from other machines, and http does not protect tokens: put a proxy with TLS in front and set public_url`;
    warnings.push({ setting: 'host', origin: 'host', detail });
  }
  if (isHttpsUrl(public_url) && !trust_proxy) {
    const detail =
      'public_url is https, so a proxy stands in front, but trust_proxy is off: all callers count as the one address of the proxy, and failed logins of strangers keep administrators out; set trust_proxy if nobody reaches the server except through the proxy';
    warnings.push({ setting: 'trust_proxy', origin: 'trust_proxy', detail });
  }
  if (
    admin_password !== null &&
    (COMMON_PASSWORDS.has(admin_password.toLowerCase()) || admin_password === admin_login)
  ) {
    const detail = 'admin_password is a commonly guessed password; choose another';
    warnings.push({ setting: 'admin_password', origin: 'admin_password', detail });
  }
  if (store !== 'embedded' && files.folder === null && files.s3_bucket === null) {
    const detail =
      'files are kept in the data folder of this machine, where servers on other machines do not find them: for several machines on one store, set files.folder to a folder that they share, or files.s3_bucket';
    warnings.push({ setting: 'files.folder', origin: 'files.folder', detail });
  }
  return warnings;
}

/** True if the settings imply a proxy: a public https URL, or trust in the headers of a proxy. */
function hasProxy({ public_url, trust_proxy }: Settings): boolean {
  return trust_proxy || isHttpsUrl(public_url);
}

export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (isIPv4(name)) return name.startsWith('127.');
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '[::1]';
}
