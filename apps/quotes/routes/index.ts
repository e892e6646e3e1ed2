/** Lists every route of the quotes, in the order of the documentation. */
import type { Route } from 'retoma/http'
import type { Quotes } from '../quotes.ts'
import { batchRoutes } from './batches.ts'
import { eventRoutes } from './events.ts'
import { quoteRoutes } from './quotes.ts'
import { systemRoutes } from './system.ts'

export const routesOf = (quotes: Quotes): readonly Route[] => [
  ...quoteRoutes(quotes),
  ...batchRoutes(quotes),
  ...eventRoutes(quotes),
  ...systemRoutes(quotes),
]
