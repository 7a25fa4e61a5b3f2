import { pointer, Refusal } from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { admitGroup } from '../admission/admit-write.ts';
import { clientsOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { groupPartition, sharedPartition, userPartition } from '../ports/owner.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';

interface QuestionParts {
  readonly store: Store;
  readonly sources: Sources;
}

export interface ReceiptCall {
  readonly source: unknown;
  /** Only the devices of this user. Needed unless the source is shared by all users. */
  readonly user_id?: unknown;
  /** The group, for a source whose data belongs to groups. Only devices of its members are counted. */
  readonly group?: unknown;
  /** The seq that a push answered with. Absent: the head. */
  readonly seq?: number;
  readonly after?: string;
  readonly limit?: number;
}

/** What a receipt is about. `clients` names the devices it is limited to; null: all that follow the partition. */
export interface Question {
  readonly partition: PartitionKey;
  readonly user: string | null;
  readonly group?: string;
  readonly clients: readonly string[] | null;
}

const MEMBERS_PER_READ = 1_000;

/** Finds out what a call is about. */
export async function readQuestion(
  parts: QuestionParts,
  { source: name, user_id, group }: ReceiptCall,
): Promise<Question> {
  const { store, sources } = parts;
  const source = await sources.view(name);
  if (source.partition_type === 'group') return groupQuestion(parts, source, user_id, admitGroup(source.name, group));
  const isShared = source.partition_type === 'app';
  if (user_id === undefined && !isShared) {
    const detail = `is needed: the data of ${JSON.stringify(source.name)} belongs to its users`;
    throw new Refusal('invalid_request', `user_id ${detail}`, [{ pointer: pointer('user_id'), detail }]);
  }
  if (user_id === undefined) return { partition: sharedPartition(source.name), user: null, clients: null };
  const user = admitName('login', user_id, pointer('user_id'));
  if ((await store.readEntry(refs.user(user))) === null) {
    throw new Refusal('user_not_found', `there is no user ${JSON.stringify(user)}`);
  }
  const [partition = userPartition(source.name, user)] = await sources.memberships.knownPartitionsOf(source, user);
  return { partition, user, clients: await clientsOf(store, user) };
}

/** Devices of users who have left the group do not count, so the members are listed. */
async function groupQuestion(
  { store, sources }: QuestionParts,
  source: SourceView,
  userId: unknown,
  group: string,
): Promise<Question> {
  const partition = groupPartition(source.name, group);
  const user = userId === undefined ? null : admitName('login', userId, pointer('user_id'));
  const clients: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = { limit: MEMBERS_PER_READ, ...(after === undefined ? {} : { after }) };
    const members = await sources.memberships.members(partition, page);
    for (const member of members) {
      if (user === null || member === user) clients.push(...(await clientsOf(store, member)));
    }
    after = members.at(-1);
    if (after === undefined || members.length < MEMBERS_PER_READ) return { partition, user, group, clients };
  }
}
