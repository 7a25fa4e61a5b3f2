import type { JsonValue } from '@tidemark/protocol';
import type { Dice } from '@tidemark/testing/kit';
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
const DRAWS: readonly (readonly [draw: (dice: Dice, state: WriterState) => Operation, weight: number])[] = [
  [drawWrite, 55],
  [drawDocument, 14],
  [drawEntries, 6],
  [drawStats, 6],
  [drawPull, 10],
  [drawTrim, 5],
  [drawOwner, 4],
];

export function drawOperation(dice: Dice, state: WriterState): Operation {
  const missing = missingOwner(dice, state);
  if (missing !== null) return missing;
  return dice.weighted(DRAWS)(dice, state);
}

/** A writer without a user or a client mostly creates it next, but sometimes later. */
function missingOwner(dice: Dice, state: WriterState): Operation | null {
  if (dice.chance(30)) return null;
  if (!state.hasUser) return { kind: 'create_user' };
  return state.hasClient ? null : { kind: 'register_client' };
}

function drawTarget(dice: Dice, { writer, hasUser }: WriterState): Target {
  return writer !== SETUP_WRITER && hasUser && dice.chance(60) ? 'own' : 'shared';
}

function drawWrite(dice: Dice, state: WriterState): Operation {
  const target = drawTarget(dice, state);
  const draw = () => drawRange(dice, state.batchPercent);
  const kind = dice.pick([
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
      return { kind, target, remove: draw(), put: drawRange(dice, 0) };
    case 'fast_delete':
      return { kind, target, remove: draw() };
    case 'replace':
      return target === 'own' ? { kind, target, objects: draw() } : { kind: 'push_objects', target, objects: draw() };
    default:
      return { kind, target, objects: draw() };
  }
}

function drawRange(dice: Dice, batchPercent: number): ObjectRange {
  const seed = dice.below(SEEDS);
  if (dice.chance(batchPercent)) {
    return { first: 0, count: dice.between(BATCH_OBJECTS.least, BATCH_OBJECTS.most), seed };
  }
  return { first: dice.below(FEW_OBJECTS), count: dice.between(1, OBJECTS_PER_WRITE), seed };
}

function drawDocument(dice: Dice, { hasUser, hasClient }: WriterState): Operation {
  const owners: DocumentOwner[] = ['server', 'shared'];
  if (hasUser) owners.push('user');
  if (hasClient) owners.push('client');
  const kind = dice.chance(25) ? 'set_document' : 'append_document';
  return { kind, owner: dice.pick(owners), content: drawContent(dice) };
}

function drawContent(dice: Dice): DocumentContent {
  if (dice.chance(50)) return { type: 'text', text: `${dice.below(SEEDS)} ~ `.repeat(dice.between(1, 30)) };
  return { type: 'objects', objects: drawRange(dice, 0) };
}

function drawEntries(dice: Dice): Operation {
  const slots = dice
    .shuffle(Array.from({ length: ENTRY_SLOTS }, (_, slot) => slot))
    .slice(0, dice.between(1, ENTRY_SLOTS));
  const value = String(dice.below(SEEDS));
  return { kind: 'write_entries', entries: slots.map((slot) => ({ slot, value: dice.chance(20) ? null : value })) };
}

function drawStats(dice: Dice, { writer }: WriterState): Operation {
  const isOld = writer === SETUP_WRITER;
  if (isOld && dice.chance(30)) return { kind: 'trim_stats', beforeMinute: dice.below(OLD_MINUTES) };
  const values = Array.from({ length: dice.between(1, 6) }, () => ({
    metric: metricOf(writer, dice.pick(['reads', 'writes'])),
    minute: (isOld ? 0 : OLD_MINUTES) + dice.below(OLD_MINUTES),
    value: dice.between(-1_000, 1_000),
  }));
  return { kind: 'record_stats', values };
}

function drawPull(dice: Dice, state: WriterState): Operation {
  if (!state.hasUser || !state.hasClient) return drawWrite(dice, state);
  const objectsMax = dice.chance(60) ? PAGE_OBJECTS : dice.between(1, 20);
  return { kind: 'pull', target: deviceTarget(state.writer), token: state.token, objectsMax };
}

/** Trims of the shared partition are never forced: its device must never have to start over. */
function drawTrim(dice: Dice, state: WriterState): Operation {
  const target = drawTarget(dice, state);
  return { kind: 'trim', target, isForced: target === 'own' && dice.chance(20) };
}

function drawOwner(dice: Dice, state: WriterState): Operation {
  if (!state.hasUser) return { kind: 'create_user' };
  if (state.writer !== SETUP_WRITER && dice.chance(30)) return { kind: 'delete_user' };
  if (state.hasClient && dice.chance(50)) return { kind: 'update_client', version: String(dice.below(SEEDS)) };
  return { kind: 'update_user', mood: dice.pick(MOODS) };
}
