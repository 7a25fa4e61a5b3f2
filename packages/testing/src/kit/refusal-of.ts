import { Refusal, type RefusalCode } from '@tidemark/protocol';

/** The code a call was refused with. Anything but a refusal fails the test. */
export async function refusalOf(call: Promise<unknown>): Promise<RefusalCode> {
  try {
    await call;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
  throw new Error('the call was not refused');
}
