/** A stack tells of files and versions: it is for those who act. To a viewer it is null, wherever it stands. */
import type { Principal } from './route.ts'

export const withoutStack = <E extends object>(error: E, { role }: Principal): E =>
  role === 'viewer' && 'stack' in error ? { ...error, stack: null } : error
