import { isMainThread } from 'node:worker_threads';
import { instrumentModules, startRecording, stopRecording, untilIdle } from './recorder.mjs';

// Loaded by a server before its own modules (`node --import`): records when the parent process says so.

if (isMainThread) {
  instrumentModules(process.env.TIDEMARK_WAYS_CHECKOUT);
  process.on('message', async (message) => process.send(message === 'start' ? await start() : await stop()));
  process.on('disconnect', () => process.exit(1));
  process.channel.unref();
}

async function start() {
  await startRecording();
  return [];
}

async function stop() {
  await untilIdle();
  return stopRecording();
}
