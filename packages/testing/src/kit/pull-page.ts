import { type DeviceId, pageJson, type Tidemark } from '@tidemark/core';
import { Refusal, type RefusalCode } from '@tidemark/protocol';

export interface PageSizeCall {
  readonly objectsMax?: number;
  readonly unitsMax?: number;
}

export interface PageCall extends PageSizeCall {
  readonly source: string;
  /** Null: the device holds nothing. */
  readonly token: string | null;
}

export interface PulledPage {
  /** The page as JSON text. */
  readonly json: string;
  /** Resolves when what the device presented is recorded. */
  readonly noted: Promise<void>;
}

export interface PulledPages {
  /** Source → its page as JSON text, or why it has none. */
  readonly pages: ReadonlyMap<string, string | Refusal>;
  /** Resolves when what the device presented is recorded. */
  readonly noted: Promise<void>;
}

/** Pulls the next pages of several sources in one call, as a registered device does. */
export async function pullPages(
  tidemark: Tidemark,
  device: DeviceId,
  tokens: ReadonlyMap<string, string | null>,
  size: PageSizeCall = {},
): Promise<PulledPages> {
  const { pages, noted } = await tidemark.devices.pull(device, { sources: tokens, ...size });
  const texts = pages.map(({ source, page }): [string, string | Refusal] => [
    source,
    'error' in page ? new Refusal(page.error.code as RefusalCode, page.error.detail) : pageJson(page.token, page.body),
  ]);
  return { pages: new Map(texts), noted };
}

/** Pulls the next page of one source, as a registered device does. Throws the refusal if there is none. */
export async function pullPage(
  tidemark: Tidemark,
  device: DeviceId,
  { source, token, ...size }: PageCall,
): Promise<PulledPage> {
  const { pages, noted } = await pullPages(tidemark, device, new Map([[source, token]]), size);
  const page = pages.get(source);
  if (page === undefined) throw new Error(`the answer says nothing about ${source}`);
  if (page instanceof Refusal) throw page;
  return { json: page, noted };
}
