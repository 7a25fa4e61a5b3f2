import type { JsonValue } from '@tidemark/protocol';
import type { Rng } from '@tidemark/testing/kit';
import { deviceTarget, metricOf, SETUP_WRITER } from './names.ts';
import {
  BATCH_OBJECTS,
  type DocumentContent,
  type DocumentOwner,
  type ObjectRange,
  type Operation,
  type Target,
} from './operation.ts';

/** The state of a writer, which decides what it can do. */
export interface WriterState {
  readonly writer: number;
  readonly hasUser: boolean;
  readonly hasClient: boolean;
  readonly token: string | null;
  readonly batchPercent: number;
}

/** Small writes use the same few objects again and again. */
const FEW_OBJECTS = 40;
const OBJECTS_PER_WRITE = 5;
const ENTRY_SLOTS = 8;
const SEEDS = 2 ** 31;
const PAGE_OBJECTS = 500;
const MOODS: readonly JsonValue[] = ['calm', 'stormy', 7, null, { tide: ['low', 'high'] }];
/** Only metrics of the setup writer are this old, so only they are trimmed. */
const OLD_MINUTES = 50;

/** Weights of the kinds of operations. Writers without a user or a client fall back to shared data. */
const DRAWS: readonly (readonly [draw: (rng: Rng, state: WriterState) => Operation, weight: number])[] = [
  [drawWrite, 55],
  [drawDocument, 14],
  [drawEntries, 6],
  [drawStats, 6],
  [drawPull, 10],
  [drawTrim, 5],
  [drawOwner, 4],
];

export function drawOperation(rng: Rng, state: WriterState): Operation {
  const missing = missingOwner(rng, state);
  if (missing !== null) return missing;
  return rng.weighted(DRAWS)(rng, state);
}

/** A writer without a user or a client mostly creates it next, but sometimes later. */
function missingOwner(rng: Rng, state: WriterState): Operation | null {
  if (rng.chance(30)) return null;
  if (!state.hasUser) return { kind: 'create_user' };
  return state.hasClient ? null : { kind: 'register_client' };
}

function drawTarget(rng: Rng, { writer, hasUser }: WriterState): Target {
  return writer !== SETUP_WRITER && hasUser && rng.chance(60) ? 'own' : 'shared';
}

function drawWrite(rng: Rng, state: WriterState): Operation {
  const target = drawTarget(rng, state);
  const draw = () => drawRange(rng, state.batchPercent);
  const kind = rng.pick([
    'push_objects',
    'push_objects',
    'push_deletes',
    'fast_insert',
    'fast_update',
    'fast_delete',
    'replace',
  ] as const);
  switch (kind) {
    case 'fast_update':
      return { kind, target, remove: draw(), put: drawRange(rng, 0) };
    case 'fast_delete':
      return { kind, target, remove: draw() };
    case 'replace':
      return target === 'own' ? { kind, target, objects: draw() } : { kind: 'push_objects', target, objects: draw() };
    default:
      return { kind, target, objects: draw() };
  }
}

function drawRange(rng: Rng, batchPercent: number): ObjectRange {
  const seed = rng.below(SEEDS);
  if (rng.chance(batchPercent)) {
    return { first: 0, count: rng.between(BATCH_OBJECTS.least, BATCH_OBJECTS.most), seed };
  }
  return { first: rng.below(FEW_OBJECTS), count: rng.between(1, OBJECTS_PER_WRITE), seed };
}

function drawDocument(rng: Rng, { hasUser, hasClient }: WriterState): Operation {
  const owners: DocumentOwner[] = ['server', 'shared'];
  if (hasUser) owners.push('user');
  if (hasClient) owners.push('client');
  const kind = rng.chance(25) ? 'set_document' : 'append_document';
  return { kind, owner: rng.pick(owners), content: drawContent(rng) };
}

function drawContent(rng: Rng): DocumentContent {
  if (rng.chance(50)) return { type: 'text', text: `${rng.below(SEEDS)} ~ `.repeat(rng.between(1, 30)) };
  return { type: 'objects', objects: drawRange(rng, 0) };
}

function drawEntries(rng: Rng): Operation {
  const slots = rng
    .shuffle(Array.from({ length: ENTRY_SLOTS }, (_, slot) => slot))
    .slice(0, rng.between(1, ENTRY_SLOTS));
  const value = String(rng.below(SEEDS));
  return { kind: 'write_entries', entries: slots.map((slot) => ({ slot, value: rng.chance(20) ? null : value })) };
}

function drawStats(rng: Rng, { writer }: WriterState): Operation {
  const isOld = writer === SETUP_WRITER;
  if (isOld && rng.chance(30)) return { kind: 'trim_stats', beforeMinute: rng.below(OLD_MINUTES) };
  const values = Array.from({ length: rng.between(1, 6) }, () => ({
    metric: metricOf(writer, rng.pick(['reads', 'writes'])),
    minute: (isOld ? 0 : OLD_MINUTES) + rng.below(OLD_MINUTES),
    value: rng.between(-1_000, 1_000),
  }));
  return { kind: 'record_stats', values };
}

function drawPull(rng: Rng, state: WriterState): Operation {
  if (!state.hasUser || !state.hasClient) return drawWrite(rng, state);
  const objectsMax = rng.chance(60) ? PAGE_OBJECTS : rng.between(1, 20);
  return { kind: 'pull', target: deviceTarget(state.writer), token: state.token, objectsMax };
}

/** Trims of the shared partition are never forced: its device must never have to start over. */
function drawTrim(rng: Rng, state: WriterState): Operation {
  const target = drawTarget(rng, state);
  return { kind: 'trim', target, isForced: target === 'own' && rng.chance(20) };
}

function drawOwner(rng: Rng, state: WriterState): Operation {
  if (!state.hasUser) return { kind: 'create_user' };
  if (state.writer !== SETUP_WRITER && rng.chance(30)) return { kind: 'delete_user' };
  if (state.hasClient && rng.chance(50)) return { kind: 'update_client', version: String(rng.below(SEEDS)) };
  return { kind: 'update_user', mood: rng.pick(MOODS) };
}
