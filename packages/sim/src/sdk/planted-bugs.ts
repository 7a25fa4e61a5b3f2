import type { DiskPart } from '@tidemark/client';
import type { AckRequest, PullAnswer, PushRequest } from '@tidemark/protocol';
import { onAnswer, onRequest, type PlantedBug, type SdkPlant } from './plant.ts';
import { VERSION_BUGS } from './planted-version-bugs.ts';

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'a device pulls again without a pause when a pull brings nothing',
    breaks: 'SIM-22',
    plant: () => ({ delayed: () => 0, answer: onAnswer<PullAnswer>('/pull', withMore) }),
  },
  {
    name: 'a create that names no group never gets its outcome when it was queued',
    breaks: 'SIM-18',
    plant: losingOutcomes,
  },
  {
    name: 'a login does not tell which person has signed in',
    breaks: 'SIM-20',
    plant: () => ({ answer: onAnswer<Readonly<Record<string, unknown>>>('/login', withoutPerson) }),
  },
  {
    name: 'updates of one object in two groups go to the group of the first',
    breaks: 'SIM-18',
    plant: () => ({ request: onRequest<PushRequest>('/push', inFirstGroup) }),
  },
  { name: 'a change is not shown until the next pull', breaks: 'SIM-19', plant: losingEvents },
  {
    name: 'a device does not confirm what it holds',
    breaks: 'SIM-21',
    plant: () => ({ request: onRequest<AckRequest>('/ack', (body) => ({ ...body, sources: {} })) }),
  },
  {
    name: 'a tab that begins to lead loses a change that was stored',
    breaks: 'SIM-18',
    plant: () => ({ found: (rows) => rows.filter((row) => row !== rows.find(({ table }) => table === 'uploads')) }),
  },
  {
    name: 'a query on the disk shows what the disk had when it was last read',
    breaks: 'SIM-18',
    plant: () => ({ disk: (disk) => ({ ...disk, scan: oneBehind(disk.scan) }) }),
  },
  {
    name: 'the checksum of a replaced object on the disk stays that of the first one',
    breaks: 'SIM-18',
    plant: () => ({ disk: (disk) => ({ ...disk, measure: onceByKey(disk.measure) }) }),
  },
  {
    name: 'the objects of groups on the disk are not made anew when a group is left',
    breaks: 'SIM-18',
    plant: () => ({
      committed: ({ disk, ...options }) =>
        disk === undefined ? options : { ...options, disk: { ...disk, unions: [] } },
    }),
  },
  {
    name: 'changes that wait are lost when a device with sources on the disk starts',
    breaks: 'SIM-18',
    plant: () => ({ disk: (disk) => ({ ...disk, load: withoutUploads(disk) }) }),
  },
  ...VERSION_BUGS,
];

/** Answers the same question with what it found the last time. */
function oneBehind<A, T>(read: (asked: A) => Promise<T>): (asked: A) => Promise<T> {
  const last = new Map<string, T>();
  return async (asked) => {
    const [key, found] = [JSON.stringify(asked), await read(asked)];
    const shown = last.get(key) ?? found;
    last.set(key, found);
    return shown;
  };
}

/** Answers the same question with what it found the first time. */
function onceByKey<A, T>(read: (asked: A) => Promise<T>): (asked: A) => Promise<T> {
  const first = new Map<string, T>();
  return async (asked) => {
    const key = JSON.stringify(asked);
    if (!first.has(key)) first.set(key, await read(asked));
    return first.get(key) as T;
  };
}

function withoutUploads(disk: DiskPart): DiskPart['load'] {
  return async (choose) => (await disk.load(choose)).filter(({ table }) => table !== 'uploads');
}

/** Every pull of groups says that there is more. */
function withMore(answer: PullAnswer): PullAnswer {
  const sources = Object.entries(answer.sources).map(([name, page]) => {
    return [name, 'groups' in page ? { ...page, more: true } : page];
  });
  return { ...answer, sources: Object.fromEntries(sources) as PullAnswer['sources'] };
}

function withoutPerson({ token, user_id, client_id, expires_at, wipe }: Readonly<Record<string, unknown>>) {
  return { token, user_id, client_id, expires_at, ...(wipe === undefined ? {} : { wipe }) };
}

function inFirstGroup(push: PushRequest): PushRequest {
  const changes = push.changes.map((upload) => {
    const first = push.changes.find(
      ({ source, id, op }) => source === upload.source && id === upload.id && op === 'update',
    );
    const group = upload.op === 'update' ? first?.group : undefined;
    return group === undefined ? upload : { ...upload, group };
  });
  return { ...push, changes };
}

function losingOutcomes(): SdkPlant {
  const lost = new Set<string>();
  return {
    request: onRequest<PushRequest>('/push', (push) => {
      for (const { op, op_id, source, group } of push.changes) {
        if (op === 'create' && source === 'Task' && group === undefined) lost.add(op_id);
      }
      return push;
    }),
    answer: onAnswer<PullAnswer>('/pull', (answer) => ({
      ...answer,
      outcomes: answer.outcomes.filter(({ op_id }) => !lost.has(op_id)),
    })),
  };
}

function losingEvents(): SdkPlant {
  let count = 0;
  return {
    event: (change, send) => {
      if (count++ % 3 !== 2) send(change);
    },
  };
}
