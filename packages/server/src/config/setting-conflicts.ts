import type { SettingProblem } from './config-problem.ts';
import type { Settings } from './schema.ts';

/** Returns problems between settings that are valid by themselves. */
export function settingConflicts({ ping }: Settings): readonly SettingProblem[] {
  return [
    ...together(ping, ['apns_key', 'apns_key_id', 'apns_team_id', 'apns_topics']),
    ...(ping.webhook_url === null ? [] : together(ping, ['webhook_url', 'webhook_secret'])),
  ];
}

function together(ping: Settings['ping'], names: readonly (keyof Settings['ping'])[]): readonly SettingProblem[] {
  const missing = names.filter((name) => ping[name] === null);
  if (missing.length === 0 || missing.length === names.length) return [];
  const given = names.filter((name) => !missing.includes(name));
  return missing.map((name) => ({
    setting: `ping.${name}`,
    origin: `ping.${name}`,
    detail: `ping.${name} must be set, because ping.${given[0]} is`,
  }));
}
