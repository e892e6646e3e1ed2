/** The address of a module with a handler: a URL of a file, or its text as `import.meta.resolve` returns it. Null: no such address. */
export function moduleAddress(module: unknown): string | null {
  const href = module instanceof URL ? module.href : module
  return typeof href === 'string' && /^file:\/\/./.test(href) && URL.canParse(href) ? href : null
}
