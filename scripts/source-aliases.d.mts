export function sourceAliases(root?: string): { readonly find: RegExp; readonly replacement: string }[];
