type Entries = AsyncIterable<readonly [id: string | number, attributes: unknown]>;

/** Returns objects as the parts of a JSON text, which can be imported again. */
export async function writeJson(objects: Entries): Promise<readonly string[]> {
  const parts: string[] = [];
  for await (const [id, attributes] of objects) {
    parts.push(`${parts.length === 0 ? '{\n' : ',\n'}${JSON.stringify(String(id))}: ${JSON.stringify(attributes)}`);
  }
  return [...parts, parts.length === 0 ? '{}\n' : '\n}\n'];
}
