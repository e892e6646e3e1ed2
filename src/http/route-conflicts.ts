/**
 * Refuses route tables that conflict: two routes at the same path, of which the second would never be called, or two errors with the same
 * code, which a caller could not tell apart.
 */
import { refuseSameCode } from '../errors/app-errors.ts'
import { localized } from '../errors/errors.ts'
import { refuseDefinition } from '../errors/invalid-option.ts'
import type { Route } from './route.ts'

export function refuseRouteConflicts(routes: readonly Route[]): void {
  refuseSameCode(routes.flatMap(({ errors = [] }) => errors.filter(each => typeof each !== 'string')))
  const known = new Set<string>()
  for (const { method, path } of routes) {
    const route = `${method.toUpperCase()} ${path}`
    // Parameter names do not matter.
    const key = route.replace(/\{\w+\}/g, '{}')
    if (known.has(key))
      refuseDefinition(localized(`route "${route}"`, `caminho "${route}"`))(
        'another route is there already; choose another path',
        'já existe outro nesse lugar; escolha outro caminho',
      )
    known.add(key)
  }
}
