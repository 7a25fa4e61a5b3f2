import type { JsonValue } from '@tidemark/protocol';
import type { Dice } from '@tidemark/testing/kit';
import { deviceRoom, KEEPER, metricOf } from './names.ts';
import {
  BATCH_OBJECTS,
  type Bunch,
  type DocumentContent,
  type DocumentRoom,
  type Operation,
  type Room,
} from './operation.ts';

/** What a writer must know of itself to do only what is possible. */
export interface WriterState {
  readonly writer: number;
  readonly hasUser: boolean;
  readonly hasClient: boolean;
  readonly token: string | null;
  readonly batchPercent: number;
}

/** Small writes meet the same objects again and again. */
const FEW_OBJECTS = 40;
const OBJECTS_PER_WRITE = 5;
const ENTRY_SLOTS = 8;
const SALTS = 2 ** 31;
const PAGE_OBJECTS = 500;
const MOODS: readonly JsonValue[] = ['calm', 'stormy', 7, null, { tide: ['low', 'high'] }];
/** Only the keeper's metrics are this old, so only they are trimmed. */
export const OLD_MINUTES = 50;

/** What is drawn how often; the draws for owners without a user or a client fall back to shared data. */
const DRAWS: readonly (readonly [weight: number, draw: (dice: Dice, state: WriterState) => Operation])[] = [
  [55, drawWrite],
  [14, drawDocument],
  [6, drawEntries],
  [6, drawStats],
  [10, drawPull],
  [5, drawTrim],
  [4, drawOwner],
];

export function drawOperation(dice: Dice, state: WriterState): Operation {
  const missing = missingOwner(dice, state);
  if (missing !== null) return missing;
  let left = dice.below(DRAWS.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, draw] of DRAWS) {
    if (left < weight) return draw(dice, state);
    left -= weight;
  }
  return drawWrite(dice, state);
}

/** Who has no user or client makes one soon, but sometimes does without for a while. */
function missingOwner(dice: Dice, state: WriterState): Operation | null {
  if (dice.chance(30)) return null;
  if (!state.hasUser) return { kind: 'create_user' };
  return state.hasClient ? null : { kind: 'register_client' };
}

function drawRoom(dice: Dice, { writer, hasUser }: WriterState): Room {
  return writer !== KEEPER && hasUser && dice.chance(60) ? 'own' : 'shared';
}

function drawWrite(dice: Dice, state: WriterState): Operation {
  const room = drawRoom(dice, state);
  const draw = () => drawBunch(dice, state.batchPercent);
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
      return { kind, room, remove: draw(), put: drawBunch(dice, 0) };
    case 'fast_delete':
      return { kind, room, remove: draw() };
    case 'replace':
      return room === 'own' ? { kind, room, objects: draw() } : { kind: 'push_objects', room, objects: draw() };
    default:
      return { kind, room, objects: draw() };
  }
}

function drawBunch(dice: Dice, batchPercent: number): Bunch {
  const salt = dice.below(SALTS);
  if (dice.chance(batchPercent)) {
    return { first: 0, count: dice.between(BATCH_OBJECTS.least, BATCH_OBJECTS.most), salt };
  }
  return { first: dice.below(FEW_OBJECTS), count: dice.between(1, OBJECTS_PER_WRITE), salt };
}

function drawDocument(dice: Dice, { hasUser, hasClient }: WriterState): Operation {
  const rooms: DocumentRoom[] = ['server', 'shared'];
  if (hasUser) rooms.push('user');
  if (hasClient) rooms.push('client');
  const kind = dice.chance(25) ? 'set_document' : 'append_document';
  return { kind, where: dice.pick(rooms), content: drawContent(dice) };
}

function drawContent(dice: Dice): DocumentContent {
  if (dice.chance(50)) return { type: 'text', text: `${dice.below(SALTS)} ~ `.repeat(dice.between(1, 30)) };
  return { type: 'objects', objects: drawBunch(dice, 0) };
}

function drawEntries(dice: Dice): Operation {
  const slots = dice
    .shuffle(Array.from({ length: ENTRY_SLOTS }, (_, slot) => slot))
    .slice(0, dice.between(1, ENTRY_SLOTS));
  const value = String(dice.below(SALTS));
  return { kind: 'write_entries', entries: slots.map((slot) => ({ slot, value: dice.chance(20) ? null : value })) };
}

function drawStats(dice: Dice, { writer }: WriterState): Operation {
  const isOld = writer === KEEPER;
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
  return { kind: 'pull', room: deviceRoom(state.writer), token: state.token, objectsMax };
}

/** In the shared partition nobody is brutal: whatever happens, its device must never have to start over. */
function drawTrim(dice: Dice, state: WriterState): Operation {
  const room = drawRoom(dice, state);
  return { kind: 'trim', room, isBrutal: room === 'own' && dice.chance(20) };
}

function drawOwner(dice: Dice, state: WriterState): Operation {
  if (!state.hasUser) return { kind: 'create_user' };
  if (state.writer !== KEEPER && dice.chance(30)) return { kind: 'delete_user' };
  if (state.hasClient && dice.chance(50)) return { kind: 'update_client', version: String(dice.below(SALTS)) };
  return { kind: 'update_user', mood: dice.pick(MOODS) };
}
