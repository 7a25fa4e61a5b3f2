import { isDeepStrictEqual } from 'node:util';
import type { DevicePull } from '@tidemark/core';
import { GROUP_PAGES_PER_PULL_MAX, textChecksum } from '@tidemark/protocol';
import { replaced } from '../faults/replaced.ts';
import type { GroupRule } from '../runner/violation.ts';
import type { GroupDevice } from './group-device.ts';
import type { GroupModel } from './group-model.ts';
import type { GroupCalls } from './group-server.ts';
import type { GroupPlant, PlantSeam } from './plant.ts';
import { PUSHED_SOURCES } from './step.ts';

/** A server or device with one bug. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug extends GroupPlant {
  readonly name: string;
  /** The rule that the bug must break; some histories may show it in another way. */
  readonly breaks: GroupRule;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  { name: 'a revocation keeps shared objects', breaks: 'GROUP-23', device: { keepsShared: true } },
  { name: 'a grant before the cursor is missed', breaks: 'GROUP-23', device: { missesGrants: true } },
  { name: 'a set token stands for a page that was lost', breaks: 'GROUP-23', device: { trustsLostPages: true } },
  { name: 'a set token ignores the memberships', breaks: 'GROUP-23', calls: ignoringMemberships },
  {
    name: 'the mark of a set token is taken after its changes were read',
    breaks: 'GROUP-23',
    store: (store) =>
      replaced(store, {
        changedSince: async (query) => {
          const read = await store.changedSince(query);
          return read && { ...read, mark: (await store.changedSince(query))?.mark ?? read.mark };
        },
      }),
  },
  { name: 'groups that fail take the places of groups with news', breaks: 'SIM-14', calls: crowdingOutNews },
  { name: 'an outcome shows an object to a user who has lost the right to it', breaks: 'SIM-15', calls: showingAll },
  { name: 'a deletion during a move is lost', breaks: 'SIM-17', calls: losingDeletions },
  { name: 'what a device once held counts after it was removed there', breaks: 'SIM-16', calls: rememberingForEver },
  {
    name: 'a user who has left is promised an object at the next pull',
    breaks: 'SIM-16',
    calls: (calls) => ({
      verdict: async (...asked) => {
        const verdict = await calls.verdict(...asked);
        return verdict === 'other_partition' ? 'pending' : verdict;
      },
    }),
  },
  {
    name: 'a receipt counts devices that were wiped',
    breaks: 'SIM-16',
    calls: (calls, run) => ({
      receipt: async (source, group) => {
        const receipt = await calls.receipt(source, group);
        const wiped = run.wiped.filter(({ user }) => run.model.isMember(user, group));
        return { ...receipt, delivered: receipt.delivered + wiped.length };
      },
    }),
  },
  {
    name: 'a device that was sent everything counts as one that never synchronised',
    breaks: 'SIM-16',
    calls: (calls, run) => ({
      verdict: async (client, place) => {
        const [source, group] = place;
        const device = run.devices.find((one) => one.client === client);
        const isSent = device?.wasSentAll(source, group) === true && !device.hasConfirmed(source, group);
        return isSent ? 'never_synced' : calls.verdict(client, place);
      },
    }),
  },
  { name: 'an explanation names an upload before the last', breaks: 'SIM-16', calls: namingEarlierUploads },
];

/** The set token says that it was given for the memberships that the user has now. */
function ignoringMemberships(calls: GroupCalls, { server }: PlantSeam): Partial<GroupCalls> {
  return {
    pull: async (device, call) => {
      const { version } = await server.tidemark.groups.of(device.user);
      const sources = Array.from(call.sources, ([source, tokens]) => {
        if (tokens === null || typeof tokens === 'string' || typeof tokens.set !== 'string')
          return [source, tokens] as const;
        return [source, { ...tokens, set: withMemberships(tokens.set, version) }] as const;
      });
      return calls.pull(device, { ...call, sources: new Map(sources) });
    },
  };
}

function withMemberships(set: string, version: number): string {
  const [format = '', mark = '', terms = '', since = ''] = set.split('~');
  const [source, , ...rest] = terms.split('.');
  const body = [format, mark, [source, version.toString(36), ...rest].join('.'), since].join('~');
  return `${body}~${textChecksum(body).toString(36)}`;
}

/** Every group that fails takes one of the places of an answer, and what finds no place waits for the next pull. */
function crowdingOutNews(calls: GroupCalls, { server, model }: PlantSeam): Partial<GroupCalls> {
  return {
    pull: async (device, call) => {
      const answer = await calls.pull(device, call);
      const { failing } = server.backend;
      const failed = model.groupsOf(device.user).filter((group) => failing.has(group)).length;
      const places = Math.max(0, GROUP_PAGES_PER_PULL_MAX - failed);
      const isNews = ({ source, group }: DevicePull['pages'][number]) =>
        source === 'Trip' && group !== null && !failing.has(group);
      const news = answer.pages.filter(isNews);
      const isCrowded = news.length > places;
      return {
        ...answer,
        pages: [...answer.pages.filter((page) => !isNews(page)), ...news.slice(0, places)],
        grouped: answer.grouped.map((one) => (one.source === 'Trip' ? { ...one, more: one.more || isCrowded } : one)),
      };
    },
  };
}

function showingAll(calls: GroupCalls, { server }: PlantSeam): Partial<GroupCalls> {
  return {
    push: async (device, upload) => {
      const outcome = await calls.push(device, upload);
      if (outcome.status === 'applied') return outcome;
      const objects = await server.objects(upload.source, upload.group ?? '');
      return { ...outcome, current: objects.get(outcome.id) ?? null };
    },
  };
}

/** An object that was there when the move began is in the target at its end. */
function losingDeletions(calls: GroupCalls, { server }: PlantSeam): Partial<GroupCalls> {
  return {
    move: async (move) => {
      const { source, group, to, ids } = move;
      const before = await server.objects(source, group);
      const moved = await calls.move(move);
      const target = await server.objects(source, to);
      const lost = ids.filter((id) => before.has(id) && !target.has(id));
      const objects = Object.fromEntries(lost.map((id) => [id, before.get(id) ?? {}]));
      if (lost.length > 0) await server.tidemark.objects.push({ source, group: to, objects });
      return moved;
    },
  };
}

/** An object that the device once held in its current version is `current` until it changes, whatever happens to the device. */
function rememberingForEver(calls: GroupCalls, { model, devices }: PlantSeam): Partial<GroupCalls> {
  const known = new Map<string, unknown>();
  return {
    pull: async (id, call) => {
      const answer = await calls.pull(id, call);
      const device = devices.find(({ client }) => client === id.client);
      if (device !== undefined) for (const [key, held] of currentOn(device, model)) known.set(key, held);
      return answer;
    },
    verdict: async (client, place) => {
      const [source, group, id] = place;
      const object = model.objects(source, group).get(id);
      const isKnown = isDeepStrictEqual(known.get(JSON.stringify([client, ...place])) ?? null, object);
      return isKnown ? 'current' : calls.verdict(client, place);
    },
  };
}

/** The objects that the device holds in their current version. */
function* currentOn(device: GroupDevice, model: GroupModel): Generator<readonly [key: string, held: unknown]> {
  for (const source of PUSHED_SOURCES) {
    for (const [group, objects] of device.held(source)) {
      for (const [id, held] of objects) {
        const isCurrent = isDeepStrictEqual(model.objects(source, group).get(id), held);
        if (isCurrent) yield [JSON.stringify([device.client, source, group, id]), held];
      }
    }
  }
}

function namingEarlierUploads(calls: GroupCalls): Partial<GroupCalls> {
  const rejected = new Set<string>();
  return {
    pull: async (...call) => {
      const answer = await calls.pull(...call);
      rejected.clear();
      return answer;
    },
    push: async (device, upload) => {
      const outcome = await calls.push(device, upload);
      const key = JSON.stringify([device.client, outcome.source, outcome.group, outcome.id]);
      if (outcome.status !== 'applied') rejected.add(key);
      return outcome;
    },
    verdict: async (client, place) =>
      rejected.has(JSON.stringify([client, ...place])) ? 'upload_rejected' : calls.verdict(client, place),
  };
}
