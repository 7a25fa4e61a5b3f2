import type { Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import { ActivityHistory } from './activity-history.ts';
import { ActivityHub, type ActivityHubParts } from './activity-hub.ts';
import { showBackground } from './show-background.ts';

export interface ActivityParts extends Omit<ActivityHubParts, 'bearers' | 'history'> {
  readonly tidemark: Tidemark;
}

export interface Activity {
  readonly activity: ActivityHub;
  /** Null: nothing is kept. */
  readonly history: ActivityHistory | null;
}

/** Opens the stream of what happens, and what is kept of it. */
export function openActivity(config: Config['activity'], { tidemark, ...parts }: ActivityParts): Activity {
  const { bearers } = tidemark.tokens;
  const { store } = tidemark;
  const history = config.keepHours === 0 ? null : new ActivityHistory({ ...parts, ...config, store });
  const activity = new ActivityHub({ ...parts, bearers, history });
  showBackground(activity, tidemark);
  return { activity, history };
}
