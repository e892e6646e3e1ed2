/** Removes undefined options: the engine accepts an option or its absence, never `undefined`. */
export const omitUndefined = <T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never
