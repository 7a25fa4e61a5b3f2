/** The push services of current browsers: Chrome and its relatives, Firefox, Edge, Safari. */
export const BROWSER_PUSH_HOSTS =
  'fcm.googleapis.com, *.push.services.mozilla.com, *.notify.windows.com, *.push.apple.com';

const HOST = /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/;

/** Parses host names separated by commas; `*.` stands for all subdomains, `*` alone for every host. */
export function readHostList(text: string): readonly string[] | null {
  const hosts = text.split(',').map((host) => host.trim().toLowerCase());
  return hosts.every((host) => HOST.test(host)) ? hosts : null;
}

export function isListed(hosts: readonly string[], host: string): boolean {
  const name = host.toLowerCase().replace(/\.$/, '');
  return hosts.some((listed) => {
    if (listed === '*' || listed === name) return true;
    return listed.startsWith('*.') && name.endsWith(listed.slice(1));
  });
}
