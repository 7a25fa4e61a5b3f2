import { buildFixture, endFixture } from './fixture.ts';
import type { Row } from './row.ts';
import { batchWrite } from './scenarios/batch-write.ts';
import { browserDisk } from './scenarios/browser-disk.ts';
import { browserFiles } from './scenarios/browser-files.ts';
import { browserStart } from './scenarios/browser-start.ts';
import { browserTasks } from './scenarios/browser-tasks.ts';
import { consoleObjects } from './scenarios/console-objects.ts';
import { deviceBytes } from './scenarios/device-bytes.ts';
import { deviceFirstSync } from './scenarios/device-first-sync.ts';
import { devicePulls } from './scenarios/device-pulls.ts';
import { disk } from './scenarios/disk.ts';
import { enforcedPush } from './scenarios/enforced-push.ts';
import { eventLoop } from './scenarios/event-loop.ts';
import { files } from './scenarios/files.ts';
import { firstSync } from './scenarios/first-sync.ts';
import { fleetChanges } from './scenarios/fleet-changes.ts';
import { fleetFirstSync } from './scenarios/fleet-first-sync.ts';
import { fleetNoChange } from './scenarios/fleet-no-change.ts';
import { groups } from './scenarios/groups.ts';
import { growth } from './scenarios/growth.ts';
import { listening } from './scenarios/listening.ts';
import { liveDelivery } from './scenarios/live-delivery.ts';
import { liveQuery } from './scenarios/live-query.ts';
import { noChange } from './scenarios/no-change.ts';
import { objectLists } from './scenarios/object-lists.ts';
import { opening } from './scenarios/opening.ts';
import { pageOfAttributes } from './scenarios/page-of-attributes.ts';
import { pageOfTen } from './scenarios/page-of-ten.ts';
import { pingFanOut } from './scenarios/ping-fan-out.ts';
import { postgres } from './scenarios/postgres.ts';
import { pushOne, pushOneApart } from './scenarios/push-one.ts';
import { pushes } from './scenarios/pushes.ts';
import { receipts } from './scenarios/receipts.ts';
import { refresh } from './scenarios/refresh.ts';
import { rest } from './scenarios/rest.ts';
import { sizes } from './scenarios/sizes.ts';
import { start } from './scenarios/start.ts';
import { twoServers } from './scenarios/two-servers.ts';
import { valkey } from './scenarios/valkey.ts';
import { valkeyFleet } from './scenarios/valkey-fleet.ts';
import { versions } from './scenarios/versions.ts';

/** What a part is told about the size of the run. */
export interface RunSize {
  readonly objects: number;
  readonly partitions: number;
  readonly devices: number;
}

export interface Part {
  readonly title: string;
  /** False: the part is measured only when it is named. */
  readonly isUsual: boolean;
  /** `measured` is called with each row as soon as it is there. */
  readonly measure: (size: RunSize, say: (line: string) => void, measured: (row: Row) => void) => Promise<void>;
}

/** A part whose rows come together. */
function part(
  title: string,
  rows: (say: (line: string) => void, size: RunSize) => Promise<readonly Row[]>,
  isUsual = true,
): Part {
  return { title, isUsual, measure: async (size, say, measured) => (await rows(say, size)).forEach(measured) };
}

export const PARTS: Readonly<Record<string, Part>> = {
  core: { title: 'bare library and batches', isUsual: true, measure: measureCore },
  growth: part('growth with the size of the document', (say, { objects }) => growth(objects, say)),
  start: part('start of a server', start),
  pushes: part('pushes over HTTP', pushes),
  schemas: part('pushes to a source with a schema', enforcedPush),
  refresh: part('refreshing', refresh),
  devices: { title: 'devices', isUsual: true, measure: measureDevices },
  live: part('a change on its way to devices that listen', liveDelivery),
  queries: part('queries of a device', liveQuery),
  sdk: part('first syncs of a device', deviceFirstSync),
  disk: part('200,000 objects on the disk of a device', disk, false),
  opfs: part('200,000 objects on the disk of a device in Chromium', browserDisk, false),
  versions: part('an app of an older version of a schema', versions),
  browser: part('a device in Chromium', async () => [...(await browserStart()), ...(await browserTasks())], false),
  console: part('the console in Chromium with 100,000 objects', consoleObjects, false),
  groups: part('groups', groups),
  servers: part('two servers on one store', twoServers),
  valkey: part('the engine on Valkey or Redis', valkey),
  rest: part('the REST API', rest),
  pings: part('10,000 devices pinged through a stand-in of APNs', pingFanOut),
  receipts: part('receipts and explanations', receipts),
  lists: part('a filtered, sorted list of 100,000 objects', objectLists),
  files: part('files beside bare node:http', files),
  photos: part('photos added in Chromium while uploads hang', browserFiles, false),
  fleet: part('a fleet on Valkey or Redis', (say, size) => valkeyFleet(size, say), false),
  postgres: part('a connected Postgres database', (say, { objects }) => postgres(say, objects), false),
  sizes: part('what things take on both engines', sizes, false),
};

async function measureCore({ objects }: RunSize, say: (line: string) => void, measured: (row: Row) => void) {
  measured(await batchWrite(say));
  say(`filling a document with ${objects} objects`);
  const large = await buildFixture(objects, say);
  const small = await buildFixture(1_000, say);
  measured(await pushOne(small, large));
  measured(await pushOneApart(small, large));
  measured(await pageOfTen(small, large));
  measured(await pageOfAttributes(small));
  measured(await noChange(small, large));
  measured(await firstSync(large));
  measured(await deviceBytes(large));
  measured(await eventLoop(small));
  measured(await opening(large));
  await endFixture(large);
  await endFixture(small);
}

async function measureDevices({ objects }: RunSize, _say: (line: string) => void, measured: (row: Row) => void) {
  measured(await fleetNoChange(1_000));
  measured(await fleetNoChange(objects));
  for (const scenario of [devicePulls, fleetChanges, fleetFirstSync, listening]) (await scenario()).forEach(measured);
}
