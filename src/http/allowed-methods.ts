/** Lists the methods of a path, for a request with another method: `GET, HEAD, POST`; empty for an unknown path. */
import type { Route } from './route.ts'

export function methodsAt(routes: readonly Route[], path: string): string {
  const there = routes.filter(route => patternOf(route.path).test(path)).map(route => route.method.toUpperCase())
  const known = new Set(there.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
  return [...known].join(', ')
}

/** Paths come from the program and contain no special character of a pattern except dots. */
const patternOf = (path: string) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
