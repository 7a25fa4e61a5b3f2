import { Refusal, type RefusalCode } from '@tidemark/protocol';

/** Returns the code of the refusal of a call. Any other result fails the test. */
export async function refusalOf(call: Promise<unknown>): Promise<RefusalCode> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  throw new Error('the call was not refused');
}
