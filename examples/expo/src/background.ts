import { syncInBackground } from '@tidemark/react-native';
import { BackgroundTaskResult, registerTaskAsync } from 'expo-background-task';
import { defineTask } from 'expo-task-manager';
import { device } from './device';

const TASK = 'sync';
// iOS takes an app that needs longer for one that hangs.
const MAX_MS = 20_000;

// A task has to be defined before any screen is: the system may start the app for the task alone.
defineTask(TASK, async () => {
  const ended = await syncInBackground(device, { maxMs: MAX_MS });
  return ended === 'failed' ? BackgroundTaskResult.Failed : BackgroundTaskResult.Success;
});

const EVERY_MINUTES = 60;

// A simulator has no tasks in the background; the app works without them.
registerTaskAsync(TASK, { minimumInterval: EVERY_MINUTES }).catch((error: unknown) =>
  console.warn('There is no sync in the background:', error),
);
