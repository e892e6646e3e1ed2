/**
 * Routes of several tables under one door, refused when they cannot live together: two at the same place, of which the second
 * would never be asked, or two errors with one code, of which a caller could not tell which is meant.
 */
import { refuseSameCode } from '../core/own-errors.ts'
import { refuseDefinition } from '../core/refuse.ts'
import { say } from '../errors.ts'
import type { Route } from './route.ts'

export function refuseClashes(routes: readonly Route[]): void {
  refuseSameCode(routes.flatMap(({ errors = [] }) => errors.filter(each => typeof each !== 'string')))
  const places = new Set<string>()
  for (const { method, path } of routes) {
    const place = `${method.toUpperCase()} ${path}`
    // Whatever its parameters are called.
    const key = place.replace(/\{\w+\}/g, '{}')
    if (places.has(key))
      refuseDefinition(say(`route "${place}"`, `caminho "${place}"`))(
        'another route is there already; choose another path',
        'já existe outro nesse lugar; escolha outro caminho',
      )
    places.add(key)
  }
}
