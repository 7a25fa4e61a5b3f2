import type { Handler } from '../handler/create-handler.ts';

/** As much of Hono's context as is needed. */
interface HonoContext {
  readonly req: { readonly raw: Request };
}

/** The handler for Hono: `app.post('/tidemark/:call', honoMount(handler))`. */
export function honoMount(handler: Handler): (context: HonoContext) => Promise<Response> {
  return ({ req }) => handler(req.raw);
}
