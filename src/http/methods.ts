/** What a path takes, for who came with another method: `GET, HEAD, POST`; empty where there is nothing at all. */
import type { Route } from './route.ts'

export function methodsAt(routes: readonly Route[], path: string): string {
  const there = routes.filter(route => patternOf(route.path).test(path)).map(route => route.method.toUpperCase())
  const known = new Set(there.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
  return [...known].join(', ')
}

/** Paths are ours, and hold nothing that a pattern reads otherwise but dots. */
const patternOf = (path: string) => new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
