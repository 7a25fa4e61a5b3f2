import type { SettingValue } from './setting-value.ts';
import { valueOfText } from './setting-value.ts';
import { SETTINGS } from './settings.ts';

/** Texts of the command line by setting name. */
export type Flags = ReadonlyMap<string, string>;

export function readFlags(flags: Flags, folder: string): readonly SettingValue[] {
  return SETTINGS.flatMap((setting) => {
    const text = flags.get(setting.name);
    if (text === undefined || setting.flag === null) return [];
    const origin = { kind: 'flag', name: setting.flag } as const;
    return [{ setting, value: valueOfText(setting, text), origin, subject: setting.flag, folder }];
  });
}
