import { Refusal, type RefusalCode } from '@tidemark/protocol';

/** A refusal whose answer has headers that its status asks for. */
export class RefusalWithHeaders extends Refusal {
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: RefusalCode, detail: string, headers: Readonly<Record<string, string>>) {
    super(code, detail);
    this.headers = headers;
  }
}
