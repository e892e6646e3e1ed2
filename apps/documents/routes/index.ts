/** Lists every route of the documents, in the order of the documentation. */
import type { Route } from 'retoma/http'
import type { Documents } from '../documents.ts'
import { documentRoutes } from './documents.ts'
import { watchdogRoutes } from './watchdog.ts'

export const routesOf = (documents: Documents): readonly Route[] => [
  ...documentRoutes(documents),
  ...watchdogRoutes(documents.guard.name),
]
