import { type SourceDeclaration, type TidemarkClient, TidemarkError } from '@tidemark/backend';
import { DISPATCHER, TECHNICIANS } from './crews.ts';

/** Photos belong to the apps alone: the backend knows nothing of them, Tidemark keeps them, and gives them to everybody. */
export const PHOTOS: SourceDeclaration = {
  name: 'Photo',
  partition_type: 'app',
  references: { work_order_id: 'WorkOrder' },
};

const SOURCES: readonly SourceDeclaration[] = [
  { name: 'WorkOrder', adapter: 'backend', poll_interval: 300, conflicts: 'detect' },
  {
    name: 'PartUse',
    adapter: 'backend',
    poll_interval: 300,
    references: { work_order_id: 'WorkOrder', part_id: 'Part' },
  },
  { name: 'Part', partition_type: 'app', adapter: 'backend', poll_interval: 900, read_only: true },
  PHOTOS,
];

/** Everything Tidemark has to know before work begins. It may be done at every start: what is there stays. */
export async function setUpTidemark(
  tidemark: TidemarkClient,
  backendUrl: string,
  technicianPassword: string,
): Promise<void> {
  for (const source of SOURCES) await unlessThere('source_exists', tidemark.sources.declare(source));
  for (const [login, region] of TECHNICIANS) {
    await unlessThere('user_exists', tidemark.users.create({ login, password: technicianPassword, region }));
  }
  await unlessThere('user_exists', tidemark.users.create({ login: DISPATCHER, password: technicianPassword }));
  await tidemark.system.setAppserver(`${backendUrl}/tidemark`);
}

async function unlessThere(code: string, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.code !== code) throw error;
  }
}
