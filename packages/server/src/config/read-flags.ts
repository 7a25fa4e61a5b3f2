import type { SettingValue } from './setting-value.ts';
import { valueOfText } from './setting-value.ts';
import { SETTINGS } from './settings.ts';

/** Setting name → text, as a command line gives it. */
export type Flags = ReadonlyMap<string, string>;

export function readFlags(flags: Flags, folder: string): readonly SettingValue[] {
  return SETTINGS.flatMap((setting) => {
    const text = flags.get(setting.name);
    if (text === undefined || setting.flag === null) return [];
    const origin = { kind: 'flag', name: setting.flag } as const;
    return [{ setting, value: valueOfText(setting, text), origin, subject: setting.flag, folder }];
  });
}
